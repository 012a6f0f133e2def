// Format of a message: six words of address (topic, graph, sequence, superstep, sender, number of
// messages the sender has sent before). Then follow the length and the words of each control
// message.
#include "mpi/mailbox.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

constexpr std::size_t address_words = 6;
constexpr auto longest_message = static_cast<std::size_t>(std::numeric_limits<int>::max());

void append(Words& message, const ControlMessage& control_message) {
  message.push_back(static_cast<std::int64_t>(control_message.words.size()));
  message.insert(message.end(), control_message.words.begin(), control_message.words.end());
}

bool is_complete(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test of a control message");
  return done != 0;
}

}  // namespace

Mailbox::Mailbox(MPI_Comm communicator, int tag) : communicator_(communicator), tag_(tag) {
  check(MPI_Comm_rank(communicator, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &size_), "MPI_Comm_size");
}

Mailbox::~Mailbox() { close(); }

void Mailbox::share_memory(std::shared_ptr<Arena> arena, std::span<const std::int64_t> inboxes) {
  std::vector<WordRing> all(inboxes.size());
  for (std::size_t rank = 0; rank < inboxes.size(); ++rank) {
    if (inboxes[rank] > 0) all[rank] = WordRing(arena->at(inboxes[rank]));
  }
  inboxes_ = std::move(all);
  arena_ = std::move(arena);
}

Words Mailbox::begin_message(ConversationKey key, int superstep) {
  return {key.topic, key.graph, key.sequence, superstep, rank_, messages_++};
}

void Mailbox::check_message(const ControlMessage& control_message) const {
  require(control_message.peer >= 0 && control_message.peer < size_, Fault::rank,
          "a control message to rank ", control_message.peer, " of a communicator of ", size_,
          " ranks");
  require(control_message.words.size() + address_words + 1 <= longest_message, Fault::unsupported,
          "a control message of ", control_message.words.size(), " words to rank ",
          control_message.peer,
          " while planning; at most 2^31 - 6 are possible: use fewer or longer runs of items");
}

void Mailbox::post(ConversationKey key, int superstep, ControlMessage control_message,
                   bool synchronous) {
  check_message(control_message);
  const Lock lock(mutex_);
  if (control_message.peer == rank_) {
    file({key, superstep}, std::move(control_message), messages_++);
    return;
  }
  Words words = begin_message(key, superstep);
  append(words, control_message);
  send(std::move(words), control_message.peer, synchronous);
}

std::size_t Mailbox::post_all(ConversationKey key, int superstep,
                              std::vector<ControlMessage> control_messages) {
  std::stable_sort(control_messages.begin(), control_messages.end(),
                   [](const ControlMessage& a, const ControlMessage& b) {
                     return std::pair(a.peer, a.ahead) < std::pair(b.peer, b.ahead);
                   });
  // Each rank starts with the ranks after it, so that not all send to the same rank first.
  std::rotate(control_messages.begin(),
              std::find_if(control_messages.begin(), control_messages.end(),
                           [&](const ControlMessage& it) { return it.peer > rank_; }),
              control_messages.end());
  std::size_t messages = 0;
  for (auto first = control_messages.begin(); first != control_messages.end();) {
    if (first->peer == rank_) {
      post(key, superstep + first->ahead, std::move(*first));
      ++first;
      continue;
    }
    check_message(*first);
    const Lock lock(mutex_);
    Words words = begin_message(key, superstep + first->ahead);
    auto last = first;
    for (;
         last != control_messages.end() && last->peer == first->peer && last->ahead == first->ahead;
         ++last) {
      if (last != first && words.size() + 1 + last->words.size() > longest_message) break;
      append(words, *last);
    }
    send(std::move(words), first->peer, false);
    ++messages;
    first = last;
  }
  return messages;
}

void Mailbox::send(Words words, int peer, bool synchronous) {
  if (!synchronous && !inboxes_.empty()) {
    WordRing& inbox = inboxes_[static_cast<std::size_t>(peer)];
    if (inbox && inbox.push(words)) return;
  }
  Message& message = sends_.emplace_back();
  message.words = std::move(words);
  check((synchronous ? MPI_Issend : MPI_Isend)(message.words.data(),
                                               static_cast<int>(message.words.size()), MPI_INT64_T,
                                               peer, tag_, communicator_, &message.request),
        "sending a control message");
}

bool Mailbox::collect() {
  if (!mutex_.try_lock()) return false;
  const Lock lock(mutex_, std::adopt_lock);
  if (communicator_ == MPI_COMM_NULL) return false;
  empty_inbox();
  receive_arrivals();
  finish_sends();
  return finish_receives();
}

bool Mailbox::collect_nearby() {
  if (!mutex_.try_lock()) return false;
  const Lock lock(mutex_, std::adopt_lock);
  if (communicator_ == MPI_COMM_NULL) return false;
  empty_inbox();
  return finish_receives();
}

void Mailbox::empty_inbox() {
  if (inboxes_.empty()) return;
  WordRing& own = inboxes_[static_cast<std::size_t>(rank_)];
  while (own && own.next_words() >= 0) {
    Words words(static_cast<std::size_t>(own.next_words()));
    Message& message = receives_.emplace_back();
    own.pop(words);
    message.words = std::move(words);
  }
}

bool Mailbox::find_arrival() {
  if (arrival_.message != MPI_MESSAGE_NULL) return true;
  int found = 0;
  MPI_Status status;
  check(MPI_Improbe(MPI_ANY_SOURCE, tag_, communicator_, &found, &arrival_.message, &status),
        "MPI_Improbe for control messages");
  if (found == 0) return false;
  check(MPI_Get_count(&status, MPI_INT64_T, &arrival_.count), "MPI_Get_count of a control message");
  return true;
}

void Mailbox::receive_arrivals() {
  while (find_arrival()) {
    Words words(static_cast<std::size_t>(arrival_.count));
    Message& message = receives_.emplace_back();
    message.words = std::move(words);
    check(MPI_Imrecv(message.words.data(), arrival_.count, MPI_INT64_T, &arrival_.message,
                     &message.request),
          "MPI_Imrecv of a control message");
  }
}

void Mailbox::finish_sends() {
  std::erase_if(sends_, [](Message& message) { return is_complete(message.request); });
}

bool Mailbox::finish_receives() {
  bool filed = false;
  for (auto message = receives_.begin(); message != receives_.end();) {
    if (!is_complete(message->request)) {
      ++message;
      continue;
    }
    file_all(*message);
    message = receives_.erase(message);
    filed = true;
  }
  return filed;
}

void Mailbox::file_all(const Message& message) {
  std::span<const std::int64_t> words(message.words);
  const auto take = [&](std::size_t count) {
    require(words.size() >= count, Fault::internal, "a control message from rank ",
            message.words[4], " ends early");
    const auto taken = words.first(count);
    words = words.subspan(count);
    return taken;
  };
  const auto head = take(address_words);
  const Address address{{head[1], head[2], head[0]}, static_cast<int>(head[3])};
  while (!words.empty()) {
    const auto control_message = take(static_cast<std::size_t>(take(1).front()));
    file(address, {static_cast<int>(head[4]), {control_message.begin(), control_message.end()}},
         head[5]);
  }
}

void Mailbox::file(Address address, ControlMessage control_message, std::int64_t number) {
  Box& box = boxes_[address];
  box.numbers.push_back(number);
  try {
    box.control_messages.push_back(std::move(control_message));
  } catch (...) {
    box.numbers.pop_back();
    throw;
  }
}

std::size_t Mailbox::count(ConversationKey key, int superstep) const {
  const Lock lock(mutex_);
  const auto box = boxes_.find({key, superstep});
  return box == boxes_.end() ? 0 : box->second.control_messages.size();
}

std::vector<ControlMessage> Mailbox::take(ConversationKey key, int superstep) {
  Box box;
  {
    const Lock lock(mutex_);
    const auto found = boxes_.find({key, superstep});
    if (found == boxes_.end()) return {};
    box = std::move(found->second);
    boxes_.erase(found);
  }
  std::vector<std::size_t> places(box.control_messages.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  // A large control message may complete after a small one that was sent later.
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(box.control_messages[a].peer, box.numbers[a]) <
           std::pair(box.control_messages[b].peer, box.numbers[b]);
  });
  std::vector<ControlMessage> control_messages;
  control_messages.reserve(places.size());
  for (const std::size_t place : places)
    control_messages.push_back(std::move(box.control_messages[place]));
  return control_messages;
}

std::vector<ControlMessage> Mailbox::look(ConversationKey key, int superstep) const {
  const Lock lock(mutex_);
  const auto box = boxes_.find({key, superstep});
  return box == boxes_.end() ? std::vector<ControlMessage>() : box->second.control_messages;
}

std::map<int, ConversationKey> Mailbox::senders_besides(ConversationKey own) const {
  std::map<int, ConversationKey> senders;
  if (!mutex_.try_lock()) return senders;
  const Lock lock(mutex_, std::adopt_lock);
  for (const auto& [address, box] : boxes_) {
    const ConversationKey& key = address.first;
    if (key.graph == own.graph && key.sequence == own.sequence) continue;
    for (const ControlMessage& control_message : box.control_messages) {
      if (control_message.peer != rank_) senders.emplace(control_message.peer, key);
    }
  }
  return senders;
}

std::size_t Mailbox::unsent() const {
  const Lock lock(mutex_);
  return sends_.size();
}

void Mailbox::close() noexcept {
  const Lock lock(mutex_);
  communicator_ = MPI_COMM_NULL;
  if (!is_alive()) return;
  // Another rank may still have to receive these, and MPI may still write into a receive. Their
  // memory must outlive this mailbox, and waiting might never end.
  static NoDestructor<std::list<Message>> unfinished;
  static Mutex unfinished_mutex;
  const Lock unfinished_lock(unfinished_mutex);
  const auto let_go = [](Message& message) {
    int done = 0;
    MPI_Test(&message.request, &done, MPI_STATUS_IGNORE);
    if (done == 0) MPI_Request_free(&message.request);
    return done != 0;
  };
  for (std::list<Message>* messages : {&sends_, &receives_}) {
    std::erase_if(*messages, let_go);
    unfinished->splice(unfinished->end(), *messages);
  }
}

}  // namespace vicinal::mpi
