// LevelDB behind a handful of C functions, as its C++ users use it: values arrive in a string that is used again, and a step of an
// iterator is one call from Rust. The library's own C interface would allocate for every value read and could neither switch its
// memory-mapped reads off nor tell when compaction has nothing left to do.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"

using leveldb::Slice;
using leveldb::Status;

// CRC-32C over `length` bytes, continuing from `crc`: in Rust, with the processor's instruction.
extern "C" uint32_t sidekey_lab_crc32c(uint32_t crc, const char* data, size_t length);

namespace leveldb {
namespace crc32c {
// Stands in for LevelDB's own, which computes in software unless Google's crc32c library was there when it was built. The linker takes
// this one, since it comes first.
uint32_t Extend(uint32_t crc, const char* data, size_t length) { return sidekey_lab_crc32c(crc, data, length); }
}  // namespace crc32c
}  // namespace leveldb

namespace {

// A table read by pread. LevelDB's own are mapped into memory, up to 1,000 of them.
class ReadFile final : public leveldb::RandomAccessFile {
 public:
  ReadFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  ~ReadFile() override { close(descriptor_); }

  Status Read(uint64_t offset, size_t length, Slice* result, char* scratch) const override {
    ssize_t got = pread(descriptor_, scratch, length, static_cast<off_t>(offset));
    if (got < 0) {
      *result = Slice();
      return Status::IOError(name_, std::strerror(errno));
    }
    *result = Slice(scratch, static_cast<size_t>(got));
    return Status::OK();
  }

 private:
  const std::string name_;
  const int descriptor_;
};

// How many pieces of background work are waiting or running. LevelDB schedules the next piece from inside the one before, so that
// nought means that nothing is left to do.
struct Pending {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return count == 0; });
  }
};

class Environment final : public leveldb::EnvWrapper {
 public:
  explicit Environment(bool mapped)
      : EnvWrapper(leveldb::Env::Default()), mapped_(mapped), pending_(std::make_shared<Pending>()) {}

  Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override {
    if (mapped_) return target()->NewRandomAccessFile(name, file);
    *file = nullptr;
    int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      return errno == ENOENT ? Status::NotFound(name, std::strerror(errno)) : Status::IOError(name, std::strerror(errno));
    }
    *file = new ReadFile(name, descriptor);
    return Status::OK();
  }

  void Schedule(void (*function)(void*), void* argument) override {
    {
      std::lock_guard<std::mutex> lock(pending_->mutex);
      pending_->count++;
    }
    target()->Schedule(&Run, new Work{function, argument, pending_});
  }

  void WaitIdle() { pending_->Wait(); }

 private:
  struct Work {
    void (*function)(void*);
    void* argument;
    std::shared_ptr<Pending> pending;
  };

  static void Run(void* argument) {
    std::unique_ptr<Work> work(static_cast<Work*>(argument));
    work->function(work->argument);
    std::lock_guard<std::mutex> lock(work->pending->mutex);
    work->pending->count--;
    work->pending->changed.notify_all();
  }

  const bool mapped_;
  const std::shared_ptr<Pending> pending_;
};

// The text of the last failure, and the value of the last read, of this thread.
thread_local std::string last_text;
thread_local std::string last_value;

constexpr int kOk = 0;
constexpr int kNone = 1;
constexpr int kFailed = 2;

int Outcome(const Status& status) {
  if (status.ok()) return kOk;
  if (status.IsNotFound()) return kNone;
  last_text = status.ToString();
  return kFailed;
}

}  // namespace

extern "C" {

struct SidekeyLabOptions {
  uint64_t cache_bytes;
  uint64_t write_buffer_bytes;
  uint64_t file_bytes;
  uint64_t block_bytes;
  int filter_bits;
  int mapped;
};

struct SidekeyLabBytes {
  const char* data;
  size_t length;
};

struct SidekeyLabRow {
  SidekeyLabBytes key;
  SidekeyLabBytes value;
};

struct SidekeyLabStore {
  explicit SidekeyLabStore(bool mapped) : environment(mapped) {}

  ~SidekeyLabStore() {
    db.reset();
    environment.WaitIdle();
  }

  Environment environment;
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<const leveldb::FilterPolicy> filter;
  leveldb::ReadOptions read;
  leveldb::WriteOptions write;
  std::unique_ptr<leveldb::DB> db;
};

SidekeyLabBytes sidekey_lab_leveldb_text() { return {last_text.data(), last_text.size()}; }

SidekeyLabStore* sidekey_lab_leveldb_open(SidekeyLabBytes path, const SidekeyLabOptions* given) {
  auto store = std::make_unique<SidekeyLabStore>(given->mapped != 0);
  store->cache.reset(leveldb::NewLRUCache(given->cache_bytes));
  store->filter.reset(leveldb::NewBloomFilterPolicy(given->filter_bits));
  store->read.verify_checksums = true;

  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;  // compaction, too, verifies what it reads
  options.env = &store->environment;
  options.block_cache = store->cache.get();
  options.filter_policy = store->filter.get();
  options.write_buffer_size = given->write_buffer_bytes;
  options.max_file_size = given->file_bytes;
  options.block_size = given->block_bytes;
  options.compression = leveldb::kNoCompression;

  leveldb::DB* db = nullptr;
  if (Outcome(leveldb::DB::Open(options, std::string(path.data, path.length), &db)) != kOk) return nullptr;
  store->db.reset(db);
  return store.release();
}

void sidekey_lab_leveldb_close(SidekeyLabStore* store) { delete store; }

int sidekey_lab_leveldb_put(SidekeyLabStore* store, SidekeyLabBytes key, SidekeyLabBytes value) {
  return Outcome(store->db->Put(store->write, Slice(key.data, key.length), Slice(value.data, value.length)));
}

int sidekey_lab_leveldb_delete(SidekeyLabStore* store, SidekeyLabBytes key) {
  return Outcome(store->db->Delete(store->write, Slice(key.data, key.length)));
}

// The value stays as it is until the thread's next read.
int sidekey_lab_leveldb_get(SidekeyLabStore* store, SidekeyLabBytes key, SidekeyLabBytes* value) {
  int outcome = Outcome(store->db->Get(store->read, Slice(key.data, key.length), &last_value));
  *value = {last_value.data(), last_value.size()};
  return outcome;
}

leveldb::Iterator* sidekey_lab_leveldb_iterate(SidekeyLabStore* store) { return store->db->NewIterator(store->read); }

void sidekey_lab_leveldb_iterator_close(leveldb::Iterator* iterator) { delete iterator; }

static int Row(leveldb::Iterator* iterator, SidekeyLabRow* row) {
  if (!iterator->Valid()) {
    int outcome = Outcome(iterator->status());
    return outcome == kOk ? kNone : outcome;
  }
  Slice key = iterator->key(), value = iterator->value();
  *row = {{key.data(), key.size()}, {value.data(), value.size()}};
  return kOk;
}

int sidekey_lab_leveldb_seek(leveldb::Iterator* iterator, SidekeyLabBytes key, SidekeyLabRow* row) {
  iterator->Seek(Slice(key.data, key.length));
  return Row(iterator, row);
}

int sidekey_lab_leveldb_next(leveldb::Iterator* iterator, SidekeyLabRow* row) {
  iterator->Next();
  return Row(iterator, row);
}

// Writes the memtable to a table and waits until there is nothing left to compact. Of a range that holds no key, LevelDB's manual
// compaction does the first step only, which is to flush.
void sidekey_lab_leveldb_settle(SidekeyLabStore* store) {
  const std::string beyond(64, '\xff');
  const Slice limit(beyond);
  store->db->CompactRange(&limit, &limit);
  store->environment.WaitIdle();
}

// The text of one of LevelDB's properties; none if there is no such.
int sidekey_lab_leveldb_property(SidekeyLabStore* store, SidekeyLabBytes name, SidekeyLabBytes* text) {
  bool found = store->db->GetProperty(Slice(name.data, name.length), &last_text);
  *text = sidekey_lab_leveldb_text();
  return found ? kOk : kNone;
}

int sidekey_lab_leveldb_version() { return leveldb::kMajorVersion * 1000 + leveldb::kMinorVersion; }

}  // extern "C"
