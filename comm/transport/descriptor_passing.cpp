#include "comm/transport/descriptor_passing.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tenax::comm {

namespace {

/// One byte, and room for one descriptor.
struct Parcel {
  Parcel() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_LEN(sizeof(int));  // CMSG_SPACE would have room for two
  }
  Parcel(const Parcel&) = delete;
  Parcel& operator=(const Parcel&) = delete;

  char byte = 0;
  iovec part{&byte, sizeof byte};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
};

}  // namespace

void send_descriptor(int socket, const std::string& where, int descriptor) {
  Parcel parcel;
  cmsghdr* const item = CMSG_FIRSTHDR(&parcel.message);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
  if (sendmsg(socket, &parcel.message, MSG_NOSIGNAL) != 1)
    throw_link_error(where, "cannot send memory there", errno);
}

/// The kernel closes descriptors for which there is no room.
ReceivedByte receive_byte(int socket) {
  Parcel parcel;
  ReceivedByte received;
  received.result = recvmsg(socket, &parcel.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received.result <= 0) return received;
  const cmsghdr* const item = CMSG_FIRSTHDR(&parcel.message);
  if (!item || item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) return received;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(item), sizeof descriptor);
  FileDescriptor owned(descriptor);
  if ((parcel.message.msg_flags & MSG_CTRUNC) == 0) received.descriptor = std::move(owned);
  return received;
}

}  // namespace tenax::comm
