// Rounds of two calls may overlap: a region leader may begin the next call's rounds while another
// is still in this call's. Messages between two ranks keep their order, and each receive names its
// sender.
#include "discovery/consensus.hpp"

namespace vicinal {

void Consensus::enter() {
  if (team_.all_have_boards()) {
    team_.board()->show_ready(team_.call(), flagged_ != 0);
  } else {
    allreduce_ =
        mpi::iallreduce(communicator_.handle(), std::span(&flagged_, 1), mpi::Reduction::max);
  }
}

bool Consensus::complete() {
  if (allreduce_) return allreduce_->test();
  if (team_.place() == 0) {
    if (!ready_ && !members_ready()) return false;
    ready_ = true;
    if (!region_leaders_agree()) return false;
    team_.board()->show_decision(team_.call(), flagged_ != 0);
    return true;
  }
  const std::int64_t decision = team_.board()->decision();
  if (decision / 2 != team_.call()) return false;
  flagged_ = decision % 2;
  return true;
}

bool Consensus::members_ready() {
  const int members = static_cast<int>(team_.members().size());
  for (int member = 0; member < members; ++member) {
    const std::int64_t ready = team_.board()->ready(member);
    if (ready / 2 != team_.call()) return false;
    flagged_ |= ready % 2;
  }
  return true;
}

bool Consensus::region_leaders_agree() {
  const Machine& machine = team_.machine();
  const int regions = machine.regions();
  while (true) {
    if (step_ > 0) {
      if (!in_.test() || !out_.test()) return false;
      flagged_ |= arriving_;
    }
    step_ = step_ == 0 ? 1 : 2 * step_;
    if (step_ >= regions) return true;
    leaving_ = flagged_;
    in_ = mpi::ireceive(communicator_.handle(), std::as_writable_bytes(std::span(&arriving_, 1)),
                        region_leader(machine, (team_.region() + regions - step_) % regions),
                        mpi::tag_consensus);
    out_ =
        mpi::isend(communicator_.handle(), std::as_bytes(std::span(&leaving_, 1)),
                   region_leader(machine, (team_.region() + step_) % regions), mpi::tag_consensus);
  }
}

}  // namespace vicinal
