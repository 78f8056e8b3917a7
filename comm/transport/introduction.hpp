// How a connection begins: what both ends' sockets do, and the connecting end's part.
#pragma once

#include <functional>
#include <string>

#include "comm/transport/greeting.hpp"
#include "comm/transport/job_secret.hpp"
#include "comm/transport/socket.hpp"

namespace tenax::comm {

/// Who connects, to whom, until when. `where`: for errors.
struct Introduction {
  const JobSecret& secret;
  const Greeting& greeting;
  const std::string& where;
  kernels::Deadline deadline;
};

/// A socket whose other end is proven to be the process that the greeting is for, and has taken this one in. `connect` gives
/// a new socket; `bring` sends what that process asks for once both are proven. A door that has no room closes without a
/// word: then all begins again. Throws Error(link) when this process is refused or the deadline comes, and what the two throw.
FileDescriptor introduce(const Introduction& introduction, const std::function<FileDescriptor()>& connect,
                         const std::function<void(int socket)>& bring = {});

/// The accepting end's last word.
void send_welcome(int socket, const std::string& where);

/// Of a Unix socket: whether this process's user is at the other end too. True for any other socket.
bool is_of_this_user(int socket);

}  // namespace tenax::comm
