// Positions of a link's items in a buffer that holds each item once, and the layout of a part of
// that buffer in a message.
#pragma once

#include <map>
#include <vector>

#include "base/records.hpp"
#include "negotiate/links.hpp"

namespace vicinal::common_neighbor {

/// Consecutive items of one link in a buffer. Several pieces may name the same place.
struct LinkPiece {
  Index offset = 0;    ///< within the link
  Index position = 0;  ///< within the buffer
  Index count = 0;
};
void fields(auto&& take, Is<LinkPiece> auto& it) { take(it.offset, it.position, it.count); }

/// Returns the pieces of the links that a stream was merged from, by peer. Positions are those of
/// the source buffer, or of the stream packed into a buffer of its own.
std::map<int, std::vector<LinkPiece>> pieces_by_peer(const Stream& stream, bool packed);

/// A link's part of a message.
struct MessagePart {
  std::vector<CopyRun> picks;     ///< buffer -> message
  std::vector<LinkPiece> pieces;  ///< the same pieces, by position in the message
  Index count = 0;
};

/// Lays out the items that the pieces name, each once, from `begin` of a message onwards. As far as
/// possible, it keeps the order of the link, which the receiver most likely wants.
MessagePart lay_out(std::vector<LinkPiece> pieces, Index begin);

}  // namespace vicinal::common_neighbor
