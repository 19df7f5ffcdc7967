// Blocks of memory that are mapped from unnamed files: under memory pressure the system can write their pages to the
// file, which it cannot do with malloc's memory without swap space. On Windows blocks come from malloc, and the system
// uses its page file.
#pragma once
#if !defined(_WIN32)
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "../base/_system.h"

namespace unnaive {

class ScratchFiles {
 public:
  // The instance of this native module. It is never destroyed, because arrays may outlive everything else.
  static ScratchFiles& instance() {
    static ScratchFiles* only = [] {
      auto* files = new ScratchFiles;
      files->idle_.reserve(kIdle + 1);
#if !defined(_WIN32)
      pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().part_from_parent(); });
#endif
      return files;
    }();
    return *only;
  }

  // From now on, map blocks of at least `least` bytes from files in `folder`; if it is empty, use malloc.
  void set_folder(const std::string& folder, size_t least) {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!idle_.empty()) drop_idle();
    folder_ = kInFiles ? folder : std::string();
    least_ = least;
  }

  // Map a block of this size from a file, zeroed if `zeros` is set; `block` is nullptr if the disk is full. Returns
  // false if such blocks are not mapped from files. Test and mapping are one call, because another thread may change
  // the folder in between. It is called from C, so it does not throw.
  bool map(size_t size, bool zeros, void*& block) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (folder_.empty() || size < least_ || size == 0) return false;
    block = take_idle(size);
    if (block) {
      if (zeros) std::memset(block, 0, size);
      return true;
    }
    try {
      const auto entry = blocks_.emplace(nullptr, File{0, -1}).first;  // the last that may fail, except for the file
      const File file = map_file(folder_, size, block);
      auto node = blocks_.extract(entry);
      if (!block) return true;
      node.key() = block;
      node.mapped() = file;
      blocks_.insert(std::move(node));
    } catch (const std::bad_alloc&) {
      block = nullptr;
    }
    return true;
  }

  // Remove the pages of all blocks from the memory of this process. Their content stays in the page cache of the system
  // or in the files, and is read from there at the next access.
  void drop_pages() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [block, file] : blocks_) drop_pages_of(block, file.size);
  }

  // The size of a block from `map`, at least the requested one; 0 for any other block.
  size_t size_of(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(block);
    return found == blocks_.end() ? 0 : found->second.size;
  }

  // Release a block of `map`; false for any other block.
  bool unmap(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return false;
    idle_.push_back(block);
    if (folder_.empty() || idle_.size() > kIdle) drop_idle();
    return true;
  }

 private:
  struct File {
    size_t size;
    int descriptor;
  };

#if defined(_WIN32)
  static constexpr bool kInFiles = false;
  static File map_file(const std::string&, size_t, void*&) { return {0, -1}; }
  static void unmap_file(void*, const File&) {}
  static void drop_pages_of(void*, size_t) {}
#else
  static constexpr bool kInFiles = true;

  static File map_file(const std::string& folder, size_t size, void*& block) {
    block = nullptr;
    const int file = open_nameless(folder);
    if (file < 0) return {0, -1};
    void* found = MAP_FAILED;
    if (reserve(file, size)) found = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (found == MAP_FAILED) {
      close(file);
      return {0, -1};
    }
    block = found;
    return {size, file};
  }

  static void unmap_file(void* block, const File& file) {
    munmap(block, file.size);
    close(file.descriptor);
  }

  // In a forked child: what it writes to blocks that it has from its parent stays its own.
  void part_from_parent() {
    for (const auto& [block, file] : blocks_)
      if (mmap(block, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file.descriptor, 0) == MAP_FAILED)
        _exit(71);  // EX_OSERR: going on would corrupt the parent's arrays
    mutex_.unlock();
  }

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

  // Reserve the whole size at once, so that a full disk is noticed here and not by a crash inside a loop.
  static bool reserve(int file, size_t size) {
#ifdef __linux__
    sigset_t all, before;  // a signal would interrupt it, and the next try would begin again
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = EINTR;
    while (error == EINTR) error = posix_fallocate(file, 0, static_cast<off_t>(size));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error == 0;
#else
    return ftruncate(file, static_cast<off_t>(size)) == 0;
#endif
  }
#endif

  // The number of released blocks that are kept for reuse: a new file costs a page fault for every page.
  static constexpr size_t kIdle = 16;

  void* take_idle(size_t size) {
    for (size_t i = idle_.size(); i-- > 0;) {
      void* block = idle_[i];
      const size_t room = blocks_.find(block)->second.size;
      if (room < size || room > size + size / 8) continue;
      idle_.erase(idle_.begin() + static_cast<ptrdiff_t>(i));
      return block;
    }
    return nullptr;
  }

  // Unmap the block that has been idle longest.
  void drop_idle() {
    void* block = idle_.front();
    idle_.erase(idle_.begin());
    const auto found = blocks_.find(block);
    unmap_file(block, found->second);
    blocks_.erase(found);
  }

  std::mutex mutex_;
  std::string folder_;
  size_t least_ = 0;
  std::unordered_map<void*, File> blocks_;
  std::vector<void*> idle_;
};

// Allocate zeros, mapped from a file if they are large; nullptr if there is no memory. Release them by `free_scratch`,
// which also takes blocks of malloc.
inline void* allocate_zeros(size_t count, size_t each) {
  if (each && count > SIZE_MAX / each) return nullptr;
  void* block = nullptr;
  if (ScratchFiles::instance().map(count * each, true, block)) return block;
  return std::calloc(count ? count : 1, each ? each : 1);
}

inline void free_scratch(void* block) {
  if (!ScratchFiles::instance().unmap(block)) std::free(block);
}

// Allocator for std::vector.
template <typename T>
struct ScratchAllocator {
  using value_type = T;
  ScratchAllocator() = default;
  template <typename Other>
  ScratchAllocator(const ScratchAllocator<Other>&) {}

  T* allocate(size_t n) {
    void* block = nullptr;
    if (!ScratchFiles::instance().map(n * sizeof(T), false, block)) {
      if (!is_large(n)) return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{alignof(T)}));
      block = allocate_large(n * sizeof(T));
    }
    if (!block) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t n) {
    if (ScratchFiles::instance().unmap(block)) return;
    if (is_large(n))
      std::free(block);
    else
      ::operator delete(block, std::align_val_t{alignof(T)});
  }
  bool operator==(const ScratchAllocator&) const { return true; }
  bool operator!=(const ScratchAllocator&) const { return false; }

 private:
  // Large blocks are aligned for huge pages: tables are read in random order, and small pages are looked up each time.
  static bool is_large([[maybe_unused]] size_t n) {
#if defined(__linux__)
    return n >= (size_t{2} << 20) / sizeof(T);
#else
    return false;
#endif
  }
};

// A vector as long as the training data; on disk during training beyond memory.
template <typename T>
using LongVector = std::vector<T, ScratchAllocator<T>>;

}  // namespace unnaive
