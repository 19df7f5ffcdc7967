// Blocks of memory that lie in files without a name: pages that the system may write out and take back when it needs
// room, unlike those of malloc, which have nowhere to go. On Windows blocks of malloc go to the system's own file.
#pragma once
#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

namespace unnaive {

class ScratchFiles {
 public:
  // One for each native module; never destroyed, since arrays may outlive all else.
  static ScratchFiles& instance() {
    static ScratchFiles* only = new ScratchFiles;
    return *only;
  }

  // Blocks of at least `least` bytes lie in files of `folder` from now on; none if it is empty.
  void set_folder(const std::string& folder, size_t least) {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!idle_.empty()) drop_idle();
    folder_ = kInFiles ? folder : std::string();
    least_ = least;
  }

  // Whether a block of this size lies in a file: then `block` is one, of anything or of zeros, or nullptr where the
  // disk has no room. One question, since another thread may set the folder between two.
  bool map(size_t size, bool zeros, void*& block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (folder_.empty() || size < least_ || size == 0) return false;
    block = take_idle(size);
    if (block) {
      if (zeros) std::memset(block, 0, size);
      return true;
    }
    block = map_file(folder_, size);
    if (block) sizes_[block] = size;
    return true;
  }

  // Take the pages of all blocks out of this process's memory. What was written stays in the system's cache of the
  // files, and is found there again when it is next used.
  void drop_pages() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [block, size] : sizes_) drop_pages_of(block, size);
  }

  // Bytes of a block that `map` gave, at least those that were asked for; 0 for any other.
  size_t size_of(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sizes_.find(block);
    return found == sizes_.end() ? 0 : found->second;
  }

  // Whether it was a block of `map`, which is gone now.
  bool unmap(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) return false;
    idle_.push_back(block);
    if (folder_.empty() || idle_.size() > kIdle) drop_idle();
    return true;
  }

 private:
#if defined(_WIN32)
  static constexpr bool kInFiles = false;
  static void* map_file(const std::string&, size_t) { return nullptr; }
  static void unmap_file(void*, size_t) {}
  static void drop_pages_of(void*, size_t) {}
#else
  static constexpr bool kInFiles = true;

  static void* map_file(const std::string& folder, size_t size) {
    const int file = open_nameless(folder);
    if (file < 0) return nullptr;
    void* block = MAP_FAILED;
    if (reserve(file, size)) block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return block == MAP_FAILED ? nullptr : block;
  }

  static void unmap_file(void* block, size_t size) { munmap(block, size); }

  static void drop_pages_of(void* block, size_t size) { madvise(block, size, MADV_DONTNEED); }

  static int open_nameless(const std::string& folder) {
#ifdef O_TMPFILE
    const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
#endif
    const std::string pattern = folder + "/.unnaive-XXXXXX";
    std::vector<char> name(pattern.c_str(), pattern.c_str() + pattern.size() + 1);
    const int named = mkstemp(name.data());
    if (named >= 0) unlink(name.data());
    return named;
  }

  // Room for all of it from the start: a disk that is full is found here, not in the middle of a loop.
  static bool reserve(int file, size_t size) {
#ifdef __linux__
    return posix_fallocate(file, 0, static_cast<off_t>(size)) == 0;
#else
    return ftruncate(file, static_cast<off_t>(size)) == 0;
#endif
  }
#endif

  // Blocks that were let go and may be wanted again at once: a new file costs a fault for every page of it.
  static constexpr size_t kIdle = 16;

  void* take_idle(size_t size) {
    for (size_t i = idle_.size(); i-- > 0;) {
      void* block = idle_[i];
      const size_t room = sizes_[block];
      if (room < size || room > size + size / 8) continue;
      idle_.erase(idle_.begin() + static_cast<ptrdiff_t>(i));
      return block;
    }
    return nullptr;
  }

  // The one that has been idle for longest goes.
  void drop_idle() {
    void* block = idle_.front();
    idle_.erase(idle_.begin());
    unmap_file(block, sizes_[block]);
    sizes_.erase(block);
  }

  std::mutex mutex_;
  std::string folder_;
  size_t least_ = 0;
  std::unordered_map<void*, size_t> sizes_;
  std::vector<void*> idle_;
};

// Zeros, in a file if they are many; nullptr where there is no room. `free_scratch` takes them, and blocks of malloc.
inline void* allocate_zeros(size_t count, size_t each) {
  if (each && count > SIZE_MAX / each) return nullptr;
  void* block = nullptr;
  if (ScratchFiles::instance().map(count * each, true, block)) return block;
  return std::calloc(count ? count : 1, each ? each : 1);
}

inline void free_scratch(void* block) {
  if (!ScratchFiles::instance().unmap(block)) std::free(block);
}

// For std::vector.
template <typename T>
struct ScratchAllocator {
  using value_type = T;
  ScratchAllocator() = default;
  template <typename Other>
  ScratchAllocator(const ScratchAllocator<Other>&) {}

  T* allocate(size_t n) {
    void* block = nullptr;
    if (!ScratchFiles::instance().map(n * sizeof(T), false, block))
      return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{alignof(T)}));
    if (!block) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) {
    if (!ScratchFiles::instance().unmap(block)) ::operator delete(block, std::align_val_t{alignof(T)});
  }
  bool operator==(const ScratchAllocator&) const { return true; }
  bool operator!=(const ScratchAllocator&) const { return false; }
};

// A vector whose memory follows the documents: on disk where training beyond memory says so.
template <typename T>
using LongVector = std::vector<T, ScratchAllocator<T>>;

}  // namespace unnaive
