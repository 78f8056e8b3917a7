#include "comm/mpi/mpi_endpoint.hpp"

#include <algorithm>
#include <cassert>
#include <exception>

#include "comm/mpi/check.hpp"
#include "comm/mpi/mpi_transfer.hpp"

namespace tenax::comm {
namespace {

class MpiLink final : public Link {
 public:
  MpiLink(MPI_Comm communicator, int peer, LinkEnds ends, double deadline_s, std::size_t max_message_bytes)
      : communicator_(communicator),
        peer_(peer),
        ends_(std::move(ends)),
        deadline_s_(deadline_s),
        max_message_bytes_(max_message_bytes) {}

  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return start(stream, tensor, tag, Direction::send);
  }
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override {
    return start(stream, tensor, tag, Direction::receive);
  }
  std::string describe() const override { return ends_.me + " - " + ends_.peer; }

 private:
  /// MPI knows nothing of streams: what is enqueued must have run before MPI reads or writes the memory. On
  /// the CPU back end streams are always idle, so this does not block. An empty message is still a message.
  TransferPtr start(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag, Direction direction) {
    assert(tag >= 0 && tag < kMaxTag);
    stream.synchronize(kernels::Deadline::after_s(deadline_s_));
    ends_.parting.reset();
    auto transfer = std::make_unique<MpiTransfer>(ends_, direction, tensor.bytes(), tag);
    std::size_t offset = 0;
    do {
      const auto bytes = static_cast<int>(std::min(max_message_bytes_, tensor.bytes() - offset));
      std::byte* data = static_cast<std::byte*>(tensor.data) + offset;
      transfer->add(start_part(data, bytes, tag, direction, *transfer), bytes);
      offset += static_cast<std::size_t>(bytes);
    } while (offset < tensor.bytes());
    return transfer;
  }

  MPI_Request start_part(void* data, int bytes, Tag tag, Direction direction, const MpiTransfer& transfer) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (direction == Direction::send)
      TENAX_MPI(link, transfer.describe() + ", " + describe(),
                MPI_Isend(data, bytes, MPI_BYTE, peer_, tag, communicator_, &request));
    else
      TENAX_MPI(link, transfer.describe() + ", " + describe(),
                MPI_Irecv(data, bytes, MPI_BYTE, peer_, tag, communicator_, &request));
    return request;
  }

  MPI_Comm communicator_;
  int peer_;
  LinkEnds ends_;
  double deadline_s_;
  std::size_t max_message_bytes_;
};

class MpiEndpoint final : public Endpoint {
 public:
  MpiEndpoint(MPI_Comm communicator, std::vector<std::string> names, double deadline_s,
              std::size_t max_message_bytes)
      : communicator_(communicator), names_(std::move(names)) {
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator_, &rank_);
    const std::string& me = names_[static_cast<std::size_t>(rank_)];
    for (int peer = 0; peer < size(); ++peer)
      links_.emplace_back(communicator_, peer, LinkEnds{me, names_[static_cast<std::size_t>(peer)]},
                          deadline_s, max_message_bytes);
  }
  ~MpiEndpoint() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && std::uncaught_exceptions() == 0) MPI_Comm_free(&communicator_);
  }
  MpiEndpoint(const MpiEndpoint&) = delete;
  MpiEndpoint& operator=(const MpiEndpoint&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(names_.size()); }
  Link& link(int peer) override {
    assert(peer != rank_ && peer >= 0 && peer < size());
    return links_[static_cast<std::size_t>(peer)];
  }
  std::string describe(int peer) const override { return names_[static_cast<std::size_t>(peer)]; }

 private:
  MPI_Comm communicator_;
  std::vector<std::string> names_;
  int rank_ = 0;
  std::vector<MpiLink> links_;
};

}  // namespace

std::unique_ptr<Endpoint> create_mpi_endpoint(MPI_Comm communicator, std::vector<std::string> names,
                                              double deadline_s, std::size_t max_message_bytes) {
  return std::make_unique<MpiEndpoint>(communicator, std::move(names), deadline_s, max_message_bytes);
}

}  // namespace tenax::comm
