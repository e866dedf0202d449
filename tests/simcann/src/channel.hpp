// One communicator between processes of a machine: a slot of shared memory a rank, and barriers.
//
//   publish my piece | barrier | read everyone's | barrier | next piece
//
// Point-to-point messages are files in shared memory, buffered: a send never blocks.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace simcann {

enum Result : int {
  kSuccess = 0,
  kParameter = 1,
  kMemory = 3,
  kInternal = 4,
  kUnsupported = 5,
  kSystemCall = 8,
  kTimeout = 9,
};

class Channel {
 public:
  // Waits until all ranks are there, at most SIMCANN_HCCL_TIMEOUT seconds.
  static Result open(const std::string& name, int size, int rank, std::shared_ptr<Channel>* made);
  ~Channel();

  const std::string name;
  const int size, rank;
  std::atomic<int> error{0};  // of the first collective that failed

  using Reader = std::function<void(int rank, size_t offset, const char* piece, size_t length)>;
  // Everyone publishes `bytes` bytes; `read` sees every rank's up to `most`, piece by piece.
  Result exchange(const void* mine, size_t bytes, size_t most, const Reader& read);
  Result barrier();
  Result send(const void* data, size_t bytes, int to);
  Result receive(void* data, size_t bytes, int from);

 private:
  struct Header;
  Channel(std::string name, int size, int rank) : name(std::move(name)), size(size), rank(rank) {}
  std::string message(int from, int to, uint64_t number) const;

  Header* header_ = nullptr;
  char* slots_ = nullptr;
  size_t mapped_ = 0;
  std::map<int, uint64_t> sent_, received_;
};

}  // namespace simcann
