// Pieces of links, and their places in messages.
#include "planners/common_neighbor/layout.hpp"

#include <algorithm>
#include <tuple>

namespace vicinal::common_neighbor {

namespace {

void append_piece(std::vector<LinkPiece>& pieces, LinkPiece piece) {
  if (!pieces.empty()) {
    LinkPiece& last = pieces.back();
    if (last.offset + last.count == piece.offset && last.position + last.count == piece.position) {
      last.count += piece.count;
      return;
    }
  }
  pieces.push_back(piece);
}

/// A stretch of the buffer that one or several pieces name.
struct Stretch {
  Index position = 0;
  Index count = 0;
  Index offset = 0;  ///< of its first item in the link
  Index in_message = 0;
};

/// Returns the stretches by position, without overlaps.
std::vector<Stretch> named_stretches(const std::vector<LinkPiece>& pieces_by_position) {
  std::vector<Stretch> stretches;
  for (const LinkPiece& piece : pieces_by_position) {
    if (stretches.empty() || stretches.back().position + stretches.back().count <= piece.position) {
      stretches.push_back({piece.position, piece.count, piece.offset, 0});
      continue;
    }
    Stretch& last = stretches.back();
    last.count = std::max(last.count, piece.position + piece.count - last.position);
    last.offset = std::min(last.offset, piece.offset);
  }
  return stretches;
}

}  // namespace

std::map<int, std::vector<LinkPiece>> pieces_by_peer(const Stream& stream, bool packed) {
  std::map<int, std::vector<LinkPiece>> pieces;
  Index position = 0;
  for (const StreamRun& run : stream.runs) {
    for (const Occurrence& place : run.occurrences) {
      append_piece(pieces[place.peer], {place.offset, packed ? position : run.position, run.count});
    }
    position += run.count;
  }
  return pieces;
}

MessagePart lay_out(std::vector<LinkPiece> pieces, Index begin) {
  std::sort(pieces.begin(), pieces.end(), [](const LinkPiece& a, const LinkPiece& b) {
    return std::tie(a.position, a.offset) < std::tie(b.position, b.offset);
  });
  std::vector<Stretch> stretches = named_stretches(pieces);
  std::vector<Stretch*> in_link_order;
  for (Stretch& stretch : stretches) in_link_order.push_back(&stretch);
  std::sort(in_link_order.begin(), in_link_order.end(), [](const Stretch* a, const Stretch* b) {
    return std::tie(a->offset, a->position) < std::tie(b->offset, b->position);
  });

  MessagePart part;
  for (Stretch* stretch : in_link_order) {
    stretch->in_message = begin + part.count;
    append_run(part.picks, {stretch->position, stretch->in_message, stretch->count});
    part.count += stretch->count;
  }
  auto holder = stretches.begin();
  for (LinkPiece& piece : pieces) {
    while (holder->position + holder->count <= piece.position) ++holder;
    piece.position = holder->in_message + (piece.position - holder->position);
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const LinkPiece& a, const LinkPiece& b) { return a.offset < b.offset; });
  for (const LinkPiece& piece : pieces) append_piece(part.pieces, piece);
  return part;
}

}  // namespace vicinal::common_neighbor
