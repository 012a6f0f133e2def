// Letters as messages: six words of address (topic, graph, sequence, superstep, sender, and how many it has sent before), then for
// each letter its length and its words.
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

void append(Words& message, const Letter& letter) {
  message.push_back(static_cast<std::int64_t>(letter.words.size()));
  message.insert(message.end(), letter.words.begin(), letter.words.end());
}

bool is_complete(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test of a letter");
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

void Mailbox::check_letter(const Letter& letter) const {
  require(letter.peer >= 0 && letter.peer < size_, Fault::rank, "a letter to rank ", letter.peer,
          " of a communicator of ", size_, " ranks");
  require(letter.words.size() + address_words + 1 <= longest_message, Fault::unsupported,
          "a letter of ", letter.words.size(), " words to rank ", letter.peer,
          " while planning; at most 2^31 - 6 are possible: use fewer or longer runs of items");
}

void Mailbox::post(ConversationKey key, int superstep, Letter letter, bool synchronous) {
  check_letter(letter);
  const Lock lock(mutex_);
  if (letter.peer == rank_) {
    file({key, superstep}, std::move(letter), messages_++);
    return;
  }
  Words words = begin_message(key, superstep);
  append(words, letter);
  send(std::move(words), letter.peer, synchronous);
}

std::size_t Mailbox::post_all(ConversationKey key, int superstep, std::vector<Letter> letters) {
  std::stable_sort(letters.begin(), letters.end(), [](const Letter& a, const Letter& b) {
    return std::pair(a.peer, a.ahead) < std::pair(b.peer, b.ahead);
  });
  // Each rank begins with those behind it, so that not all send to the same one first.
  std::rotate(letters.begin(),
              std::find_if(letters.begin(), letters.end(),
                           [&](const Letter& it) { return it.peer > rank_; }),
              letters.end());
  std::size_t messages = 0;
  for (auto first = letters.begin(); first != letters.end();) {
    if (first->peer == rank_) {
      post(key, superstep + first->ahead, std::move(*first));
      ++first;
      continue;
    }
    check_letter(*first);
    const Lock lock(mutex_);
    Words words = begin_message(key, superstep + first->ahead);
    auto last = first;
    for (; last != letters.end() && last->peer == first->peer && last->ahead == first->ahead;
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
        "sending a letter");
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
        "MPI_Improbe for letters");
  if (found == 0) return false;
  check(MPI_Get_count(&status, MPI_INT64_T, &arrival_.count), "MPI_Get_count of a letter");
  return true;
}

void Mailbox::receive_arrivals() {
  while (find_arrival()) {
    Words words(static_cast<std::size_t>(arrival_.count));
    Message& message = receives_.emplace_back();
    message.words = std::move(words);
    check(MPI_Imrecv(message.words.data(), arrival_.count, MPI_INT64_T, &arrival_.message,
                     &message.request),
          "MPI_Imrecv of a letter");
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
    require(words.size() >= count, Fault::internal, "a letter from rank ", message.words[4],
            " ends early");
    const auto taken = words.first(count);
    words = words.subspan(count);
    return taken;
  };
  const auto head = take(address_words);
  const Address address{{head[1], head[2], head[0]}, static_cast<int>(head[3])};
  while (!words.empty()) {
    const auto letter = take(static_cast<std::size_t>(take(1).front()));
    file(address, {static_cast<int>(head[4]), {letter.begin(), letter.end()}}, head[5]);
  }
}

void Mailbox::file(Address address, Letter letter, std::int64_t number) {
  Box& box = boxes_[address];
  box.numbers.push_back(number);
  try {
    box.letters.push_back(std::move(letter));
  } catch (...) {
    box.numbers.pop_back();
    throw;
  }
}

std::size_t Mailbox::count(ConversationKey key, int superstep) const {
  const Lock lock(mutex_);
  const auto box = boxes_.find({key, superstep});
  return box == boxes_.end() ? 0 : box->second.letters.size();
}

std::vector<Letter> Mailbox::take(ConversationKey key, int superstep) {
  Box box;
  {
    const Lock lock(mutex_);
    const auto found = boxes_.find({key, superstep});
    if (found == boxes_.end()) return {};
    box = std::move(found->second);
    boxes_.erase(found);
  }
  std::vector<std::size_t> places(box.letters.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  // A large letter completes after a small one that was sent later.
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(box.letters[a].peer, box.numbers[a]) <
           std::pair(box.letters[b].peer, box.numbers[b]);
  });
  std::vector<Letter> letters;
  letters.reserve(places.size());
  for (const std::size_t place : places) letters.push_back(std::move(box.letters[place]));
  return letters;
}

std::vector<Letter> Mailbox::look(ConversationKey key, int superstep) const {
  const Lock lock(mutex_);
  const auto box = boxes_.find({key, superstep});
  return box == boxes_.end() ? std::vector<Letter>() : box->second.letters;
}

std::map<int, ConversationKey> Mailbox::senders_besides(ConversationKey own) const {
  std::map<int, ConversationKey> senders;
  if (!mutex_.try_lock()) return senders;
  const Lock lock(mutex_, std::adopt_lock);
  for (const auto& [address, box] : boxes_) {
    const ConversationKey& key = address.first;
    if (key.graph == own.graph && key.sequence == own.sequence) continue;
    for (const Letter& letter : box.letters) {
      if (letter.peer != rank_) senders.emplace(letter.peer, key);
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
  // memory must outlive this mailbox, and waiting could be for ever.
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
