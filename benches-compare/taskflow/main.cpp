// How fast does Taskflow run the graphs of `bench-job-peers`?
//
// The same command line, the same graphs from the same random numbers, the same work and the same
// checks as in `benches/src/job`, step by step: see there for what is not said here.

#include <taskflow/taskflow.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr uint32_t steps_per_us = 720;
constexpr double at_least_ns = 200e6;

[[noreturn]] void fail(const char* problem) {
  std::fprintf(stderr, "bench-job-taskflow: %s\n", problem);
  std::exit(2);
}

// SplitMix64.
struct Random {
  uint64_t state;

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  uint32_t below(uint32_t count) { return static_cast<uint32_t>(((next() >> 32) * count) >> 32); }
};

inline uint64_t spin(uint64_t x, uint32_t steps) {
  for (uint32_t step = 0; step < steps; ++step) {
    x ^= x >> 7;
    x *= 0x9E3779B97F4A7C15;
    // As a chain of instructions, not as vectors or a closed form.
    asm volatile("" : "+r"(x));
  }
  return x;
}

// What so many steps take here and now: the fastest of some samples.
double measured_ns(uint32_t steps) {
  const uint32_t chains = std::max(1u, 2000 * steps_per_us / steps);
  double best = std::numeric_limits<double>::infinity();
  for (int sample = 0; sample < 5; ++sample) {
    const auto start = Clock::now();
    for (uint32_t chain = 0; chain < chains; ++chain) {
      uint64_t x = spin(chain, steps);
      asm volatile("" : : "r"(x));
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    best = std::min(best, taken.count() / chains);
  }
  return best;
}

// Lists of predecessors, one after the other.
struct Lists {
  std::vector<uint32_t> begins{0};
  std::vector<uint32_t> predecessors;

  uint32_t nodes() const { return static_cast<uint32_t>(begins.size()) - 1; }
  void close() { begins.push_back(static_cast<uint32_t>(predecessors.size())); }
};

struct Dag {
  Lists lists;
  std::unique_ptr<std::atomic<uint32_t>[]> cells;
  uint32_t steps = 0;
  std::atomic<bool> checks_order{false};
  std::atomic<bool> out_of_order{false};

  void make_cells() { cells.reset(new std::atomic<uint32_t>[lists.nodes()]()); }

  void layered(uint64_t nodes) {
    constexpr uint32_t layers = 100;
    const uint32_t width = std::max<uint32_t>(3, static_cast<uint32_t>(nodes / layers));
    Random random{7};
    for (uint32_t layer = 0; layer < layers; ++layer) {
      for (uint32_t at = 0; at < width; ++at) {
        const size_t begin = lists.predecessors.size();
        while (layer > 0 && lists.predecessors.size() < begin + 3) {
          const uint32_t one = (layer - 1) * width + random.below(width);
          const auto from = lists.predecessors.begin() + static_cast<ptrdiff_t>(begin);
          if (std::find(from, lists.predecessors.end(), one) == lists.predecessors.end()) {
            lists.predecessors.push_back(one);
          }
        }
        lists.close();
      }
    }
    make_cells();
  }

  void fan(uint32_t middle) {
    lists.close();
    for (uint32_t at = 0; at < middle; ++at) {
      lists.predecessors.push_back(0);
      lists.close();
    }
    for (uint32_t at = 1; at <= middle; ++at) {
      lists.predecessors.push_back(at);
    }
    lists.close();
    make_cells();
  }

  void run(uint32_t node) {
    if (steps > 0) {
      uint64_t x = spin(node, steps);
      asm volatile("" : : "r"(x));
    }
    if (checks_order.load(relaxed)) {
      for (uint32_t at = lists.begins[node]; at < lists.begins[node + 1]; ++at) {
        if (cells[lists.predecessors[at]].load(relaxed) != 1) {
          out_of_order.store(true, relaxed);
        }
      }
    }
    cells[node].fetch_add(1, relaxed);
  }

  void reset() {
    for (uint32_t node = 0; node < lists.nodes(); ++node) {
      cells[node].store(0, relaxed);
    }
  }

  void check() const {
    for (uint32_t node = 0; node < lists.nodes(); ++node) {
      if (cells[node].load(relaxed) != 1) {
        fail("a node did not run once");
      }
    }
    if (out_of_order.load(relaxed)) {
      fail("a node ran before one of its predecessors");
    }
  }
};

struct Transaction {
  uint32_t from, to;
  uint64_t amount;
};

struct Transactions {
  static constexpr uint32_t hot = 16;
  static constexpr uint32_t nobody = std::numeric_limits<uint32_t>::max();

  std::vector<Transaction> list;
  std::vector<uint64_t> balances;
  std::vector<uint64_t> expected;

  Transactions(uint32_t count, uint32_t hot_percent) {
    Random random{11};
    std::vector<uint32_t> own;
    for (uint32_t account = hot; account < hot + 2 * count; ++account) {
      own.push_back(account);
    }
    for (size_t at = own.size() - 1; at > 0; --at) {
      std::swap(own[at], own[random.below(static_cast<uint32_t>(at) + 1)]);
    }
    for (uint32_t number = 0; number < count; ++number) {
      uint32_t from = own[2 * number], to = own[2 * number + 1];
      if (random.below(100) < hot_percent) {
        from = random.below(hot);
        to = (from + 1 + random.below(hot - 1)) % hot;
      }
      list.push_back({from, to, 1 + random.next() % 1000});
    }
    reset();
    for (uint32_t number = 0; number < count; ++number) {
      execute(number);
    }
    expected = balances;
  }

  void execute(uint32_t number) {
    const Transaction& one = list[number];
    const uint64_t has = balances[one.from], other = balances[one.to];
    const uint64_t mixed = spin(has ^ (other << 32 | other >> 32) ^ one.amount, steps_per_us);
    const uint64_t moved = std::min(1 + mixed % one.amount, has);
    balances[one.from] = has - moved;
    balances[one.to] = other + moved;
  }

  // Everything read is written too, so that the last writer of an account is all there is to know.
  Lists conflicts() const {
    Lists lists;
    lists.begins.reserve(list.size() + 1);
    lists.predecessors.reserve(2 * list.size());
    std::vector<uint32_t> writer(balances.size(), nobody);
    for (uint32_t number = 0; number < list.size(); ++number) {
      uint32_t& from = writer[list[number].from];
      uint32_t& to = writer[list[number].to];
      if (from != nobody) {
        lists.predecessors.push_back(from);
      }
      if (to != nobody && to != from) {
        lists.predecessors.push_back(to);
      }
      from = to = number;
      lists.close();
    }
    return lists;
  }

  void reset() { balances.assign(hot + 2 * list.size(), 1'000'000); }

  void check() const {
    if (balances != expected) {
      fail("the balances are not those of one-by-one execution");
    }
  }
};

// Taskflow's own form of a graph.
template <typename Run>
std::unique_ptr<tf::Taskflow> build(const Lists& lists, Run run) {
  auto flow = std::make_unique<tf::Taskflow>();
  std::vector<tf::Task> tasks;
  tasks.reserve(lists.nodes());
  for (uint32_t node = 0; node < lists.nodes(); ++node) {
    tasks.push_back(flow->emplace([run, node] { run(node); }));
    for (uint32_t at = lists.begins[node]; at < lists.begins[node + 1]; ++at) {
      tasks[lists.predecessors[at]].precede(tasks[node]);
    }
  }
  return flow;
}

struct Arguments {
  std::string workload;
  uint64_t scale = 0;
  size_t workers = 2;
  size_t repeats = 3;
  bool bare = false;
  bool list = false;
};

// Once to warm up, then against the clock: the median, in nanoseconds.
double timed(const Arguments& arguments, const std::function<void()>& prepare,
             const std::function<void()>& run, const std::function<void()>& finish) {
  const auto once = [&] {
    prepare();
    const auto start = Clock::now();
    run();
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    finish();
    return taken.count();
  };
  if (!arguments.bare) {
    double warm = once();
    if (warm > 1.5e9) {
      return warm;
    }
    while (warm < at_least_ns / 2) {
      warm += once();
    }
  }
  std::vector<double> samples;
  double total = 0;
  while (samples.size() < arguments.repeats || (total < at_least_ns && !arguments.bare)) {
    samples.push_back(once());
    total += samples.back();
  }
  std::sort(samples.begin(), samples.end());
  const size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

void report(const Arguments& arguments, const char* unit, double ns, uint32_t items,
            uint32_t steps) {
  std::printf(R"({"workload":"%s","who":"taskflow","unit":"%s","value":%.3f,"items":%u,"workers":%zu)",
              arguments.workload.c_str(), unit, ns / items, items, arguments.workers);
  if (steps > 0) {
    const double work = measured_ns(steps);
    const double overhead = ns * static_cast<double>(arguments.workers) / items - work;
    std::printf(R"(,"work_ns":%.3f,"overhead_ns":%.3f)", work, overhead);
  }
  std::printf("}\n");
}

void graph(const Arguments& arguments, tf::Executor& executor) {
  const uint64_t nodes = arguments.scale > 0 ? arguments.scale : 100'000;
  Dag dag;
  if (arguments.workload == "fan_out_in") {
    dag.fan(static_cast<uint32_t>(nodes));
  } else {
    dag.layered(nodes);
    dag.steps = arguments.workload == "dag_1us"    ? steps_per_us
                : arguments.workload == "dag_10us" ? 10 * steps_per_us
                                                   : 0;
  }
  const auto run = [&dag](uint32_t node) { dag.run(node); };

  dag.checks_order = true;
  executor.run(*build(dag.lists, run)).wait();
  dag.check();
  dag.checks_order = false;

  double ns = 0;
  if (arguments.workload == "dag_build_0") {
    ns = timed(
        arguments, [&] { dag.reset(); },
        [&] { executor.run(*build(dag.lists, run)).wait(); }, [&] { dag.check(); });
  } else {
    std::unique_ptr<tf::Taskflow> flow;
    ns = timed(
        arguments,
        [&] {
          dag.reset();
          flow = build(dag.lists, run);
        },
        [&] { executor.run(*flow).wait(); },
        [&] {
          flow.reset();
          dag.check();
        });
  }
  report(arguments, "ns/node", ns, dag.lists.nodes(), dag.steps);
}

void transactions(const Arguments& arguments, tf::Executor& executor) {
  const uint32_t count = arguments.scale > 0 ? static_cast<uint32_t>(arguments.scale) : 20'000;
  const size_t last = arguments.workload.rfind('_') + 1;
  Transactions batch(count, static_cast<uint32_t>(std::stoul(arguments.workload.substr(last))));
  const double ns = timed(
      arguments, [&] { batch.reset(); },
      [&] {
        const auto run = [&batch](uint32_t number) { batch.execute(number); };
        executor.run(*build(batch.conflicts(), run)).wait();
      },
      [&] { batch.check(); });
  report(arguments, "ns/transaction", ns, count, 0);
}

// Of the lists of a graph and of the balances after a batch, as `sums.txt` has them: the tests of
// `benches/src/job` make the same ones of theirs.
template <typename Number>
uint64_t sum(const std::vector<Number>& numbers) {
  uint64_t sum = 0;
  for (const Number one : numbers) {
    sum = sum * 31 + one;
  }
  return sum;
}

void sums() {
  Dag dag;
  dag.layered(1'000);
  const Transactions batch(1'000, 90);
  std::printf("graph %llu\n", static_cast<unsigned long long>(sum(dag.lists.predecessors)));
  std::printf("balances %llu\n", static_cast<unsigned long long>(sum(batch.expected)));
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    fail("name a workload");
  }
  Arguments arguments;
  arguments.workload = words[1];
  if (arguments.workload == "--sums") {
    sums();
    return 0;
  }
  for (int at = 2; at < count; ++at) {
    const std::string word = words[at];
    if (word == "--list") {
      arguments.list = true;
    } else if (word == "--bare") {
      arguments.bare = true;
      arguments.repeats = 1;
    } else if (at + 1 == count) {
      fail("an option needs a value");
    } else if (word == "--workers") {
      arguments.workers = std::stoul(words[++at]);
    } else if (word == "--scale") {
      arguments.scale = std::stoull(words[++at]);
    } else if (word == "--repeats") {
      arguments.repeats = std::stoul(words[++at]);
    } else if (word == "--peer") {
      ++at;
    } else {
      fail("unknown option");
    }
  }
  const bool is_graph = arguments.workload == "fan_out_in" ||
                        (arguments.workload.rfind("dag_", 0) == 0);
  const bool is_batch = arguments.workload.rfind("transactions_", 0) == 0;
  if (arguments.list) {
    if (is_graph || is_batch) {
      std::puts("taskflow");
    }
    return 0;
  }
  tf::Executor executor(arguments.workers);
  if (is_graph) {
    graph(arguments, executor);
  } else if (is_batch) {
    transactions(arguments, executor);
  } else {
    fail("no such workload");
  }
}
