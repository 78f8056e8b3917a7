// OutgoingHandshake: how the connecting end of a socket proves itself and its peer.
#pragma once

#include <functional>
#include <string>

#include "comm/transport/challenge.hpp"
#include "comm/transport/connection_request.hpp"
#include "comm/transport/job_secret.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// `where`: for errors.
struct OutgoingHandshake {
  const JobSecret& secret;
  const ConnectionRequest& request;
  const std::string& where;
  kernels::Deadline deadline;
};

/// A socket whose other end is proven to be the process that the request is for, and has taken this
/// one in. `connect` gives a new socket; `agree` says what that process asks for once both are
/// proven. A listener that has no room closes without a word: then all begins again. Throws
/// Error(link) when this process is refused or the deadline comes, and what the two throw.
FileDescriptor connect_and_prove(const OutgoingHandshake& attempt,
                                 const std::function<FileDescriptor()>& connect,
                                 const std::function<void(int socket, const Challenge&)>& agree = {});

/// The accepting end's last word.
void send_accepted(int socket, const std::string& where);

/// Whether this process's user is at the other end of a Unix socket too. True for any other socket.
bool is_of_this_user(int socket);

}  // namespace tenax::comm
