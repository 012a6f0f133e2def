// Where the items of a link lie in a buffer that holds them, each once, and how a part of that
// buffer becomes a part of a message.
#pragma once

#include <map>
#include <vector>

#include "base/records.hpp"
#include "planners/links.hpp"

namespace vicinal::common_neighbor {

/// Items of one link that lie side by side in a buffer. Several pieces may name the same place.
struct LinkPiece {
  Index offset = 0;    ///< within the link
  Index position = 0;  ///< within the buffer
  Index count = 0;
};
void fields(auto&& take, Is<LinkPiece> auto& it) { take(it.offset, it.position, it.count); }

/// The pieces of the links that a stream was merged from, by peer. Positions are those of the
/// source buffer, or of the stream packed into a buffer of its own.
std::map<int, std::vector<LinkPiece>> pieces_by_peer(const Stream& stream, bool packed);

/// A link's part of a message.
struct MessagePart {
  std::vector<CopyRun> picks;     ///< buffer -> message
  std::vector<LinkPiece> pieces;  ///< the same pieces, in the message
  Index count = 0;
};

/// Lays out what the pieces name, each item once, from `begin` of a message onwards, as far as
/// possible in the order of the link, in which its receiver most likely wants it.
MessagePart lay_out(std::vector<LinkPiece> pieces, Index begin);

}  // namespace vicinal::common_neighbor
