// After the "HDF5 File Format Specification Version 3.0": version 2 of superblock and object
// headers, links in the header or, where there are many, in a fractal heap.
#include "hdf5/parse.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "hdf5/door.h"
#include "hdf5/scanner.h"

namespace lockstep::hdf5 {
namespace {

constexpr int kMaxDepth = 16;  // of groups
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// Kinds of header messages.
enum : unsigned {
  kNil = 0,
  kDataspace = 1,
  kLinkInfo = 2,
  kDatatype = 3,
  kFillValue = 5,
  kLink = 6,
  kExternalFiles = 7,
  kLayout = 8,
  kGroupInfo = 10,
  kFilters = 11,
  kAttribute = 12,
  kContinuation = 16,
  kAttributeInfo = 21,
  kReferenceCount = 22
};

// The heap of a group's links as HDF5 makes it: rows of 4 blocks, of 512 bytes in rows 0 and 1 and
// twice as many in each further row; those above 64 KiB are tables of blocks again.
constexpr std::uint64_t kHeapWidth = 4, kHeapStart = 512, kHeapDirect = 65536, kHeapBits = 32;
constexpr std::uint64_t kHeapMaxRows = kHeapBits - 9;
constexpr std::uint64_t kBlockHead = 21, kTableHead = 17;  // bytes before links, before addresses

struct Link {
  std::uint64_t order = 0;
  std::string name;
  std::uint64_t address = 0;
};

// What the header of an object says.
struct Object {
  bool group = false, storage = false, shaped = false;
  std::uint64_t heap = kNowhere;  // of its links
  std::vector<Link> links;
  std::vector<std::int64_t> shape;
  std::uint64_t element = 0;  // type: class and bytes, as in kTypes
  std::uint64_t offset = kNowhere, bytes = 0;
};

struct KnownType {
  std::uint64_t element;
  Type type;
};
constexpr std::uint64_t element_of(std::uint64_t kind, std::uint64_t bytes) {
  return kind << 32 | bytes;
}
constexpr std::array<KnownType, 4> kTypes{{{element_of(1, 4), Type::kF32},
                                           {element_of(0, 1), Type::kU8},
                                           {element_of(0, 4), Type::kU32},
                                           {element_of(0, 8), Type::kI64}}};

class Parser {
 public:
  explicit Parser(ByteView image) : image_(image) {}

  Description run(std::uint64_t root) {
    object(root, "", 0);
    std::vector<Attribute>& attributes = found_.attributes;
    std::sort(attributes.begin(), attributes.end(),
              [](const Attribute& a, const Attribute& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < attributes.size(); ++i) {
      if (attributes[i].name == attributes[i - 1].name)
        reject(attributes[i].name + ": two attributes of this name");
    }
    if (attributes.size() > kMaxAttributes) reject("too many attributes");
    return std::move(found_);
  }

 private:
  // A part of the file. In a canonical file no byte belongs to two parts, so all of them together
  // are not longer than it; this ends cycles and bounds the time.
  ByteView part(std::uint64_t offset, std::uint64_t length, const std::string& where) {
    if (offset > image_.size() || length > image_.size() - offset)
      reject(where + ": a part of it is not inside the file");
    spent_ += length;
    if (spent_ > image_.size()) reject(where + ": its parts overlap others");
    return image_.subspan(offset, length);
  }

  void object(std::uint64_t address, const std::string& path, int depth) {
    if (depth > kMaxDepth) reject(path + ": groups are nested too deeply");
    Object it;
    const std::string where = path.empty() ? "/" : path;
    read_header(address, where, depth, it);
    if (it.group && !it.storage && !it.shaped) {
      group(it, path, depth);
    } else if (!it.group && it.storage && it.shaped && it.element != 0 && depth > 0) {
      dataset(it, path);
    } else {
      reject(where + ": neither a group nor a data set");
    }
  }

  void read_header(std::uint64_t address, const std::string& where, int depth, Object& it) {
    Scanner head(part(address, 6, where), where);
    head.expect("OHDR");
    head.expect(2, 1, "an object header");
    const std::uint64_t flags = head.number(1);  // 0 to 3: the width of the size that follows
    if (flags > 3) reject_form(where, "an object header");
    const std::size_t width = std::size_t{1} << flags;
    const std::uint64_t size = Scanner(part(address + 6, width, where), where).number(width);
    std::vector<ByteView> chunks{part(address + 6 + width, size, where)};
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      Scanner in(chunks[i], where);
      while (in.left() >= 4) {  // fewer bytes are a gap
        const std::uint64_t kind = in.number(1), length = in.number(2);
        in.take(1);
        const ByteView body = in.take(length);
        if (kind == kContinuation) {
          chunks.push_back(continuation(Scanner(body, where), where));
        } else {
          read_message(kind, Scanner(body, where), where, depth, it);
        }
      }
    }
  }

  ByteView continuation(Scanner in, const std::string& where) {
    const std::uint64_t offset = in.number(8), length = in.number(8);
    const ByteView chunk = part(offset, length, where);
    if (length < 8) reject_form(where, "an object header");
    Scanner(chunk, where).expect("OCHK");
    return chunk.subspan(4, length - 8);  // then: the checksum
  }

  void read_message(std::uint64_t kind, Scanner in, const std::string& where, int depth,
                    Object& it) {
    switch (kind) {
      case kNil:
      case kFillValue:
      case kGroupInfo:
      case kAttributeInfo:
        return;
      case kLinkInfo:
        it.group = true;
        in.expect(0, 1, "a group");
        in.expect(3, 1, "a group");  // link order is tracked and indexed
        in.take(8);
        it.heap = in.number(8);
        return;
      case kLink:
        it.links.push_back(link(in, where));
        return;
      case kDataspace:
        it.shaped = true;
        it.shape = shape(in, where);
        return;
      case kDatatype:
        it.element = element(in);
        return;
      case kLayout:
        it.storage = true;
        in.expect(3, 1, "storage");
        if (in.number(1) != 1) reject(where + ": not contiguous");
        it.offset = in.number(8);
        it.bytes = in.number(8);
        return;
      case kAttribute:
        if (depth > 0) reject(where + ": attributes on something else than the root");
        found_.attributes.push_back(attribute(in));
        return;
      case kExternalFiles:
        reject(where + ": its bytes are in other files");
      case kFilters:
        reject(where + ": compressed or filtered");
      case kReferenceCount:
        reject(where + ": an object with several names");
      default:
        reject(where + ": storage or a property that this program does not write (header message " +
               std::to_string(kind) + ")");
    }
  }

  static Link link(Scanner& in, const std::string& where) {
    in.expect(1, 1, "a link");
    const std::uint64_t flags = in.number(1);
    if ((flags & 8) != 0 && in.number(1) != 0) reject(where + ": a soft or external link");
    if ((flags & ~std::uint64_t{8}) != 4) reject_form(where, "a link");  // 4: its order follows
    Link link;
    link.order = in.number(8);
    link.name = in.text(in.number(1));
    if (!is_name(link.name)) reject(where + ": a name that this program does not write");
    link.address = in.number(8);
    return link;
  }

  static std::vector<std::int64_t> shape(Scanner& in, const std::string& where) {
    in.expect(2, 1, "a shape");
    const std::uint64_t rank = in.number(1);
    in.take(1);
    const std::uint64_t kind = in.number(1);  // 0 scalar, 1 simple
    if (kind > 1 || rank > kMaxRank || (kind == 0) != (rank == 0)) reject(where + ": an odd shape");
    std::vector<std::int64_t> shape;
    for (std::uint64_t i = 0; i < rank; ++i) {
      const std::uint64_t dim = in.number(8);
      if (dim == 0 || dim > INT64_MAX) reject(where + ": an odd shape");
      shape.push_back(static_cast<std::int64_t>(dim));
    }
    return shape;
  }

  static std::uint64_t element(Scanner& in) {
    const std::uint64_t kind = in.number(1) & 15;
    in.take(3);
    return element_of(kind, in.number(4));
  }

  static Attribute attribute(Scanner& in) {
    const std::string somewhere = "an attribute";
    in.expect(3, 1, "an attribute");
    in.take(1);
    const std::uint64_t name_bytes = in.number(2), type_bytes = in.number(2),
                        space_bytes = in.number(2);
    in.take(1);
    std::string name = in.text(name_bytes);
    if (name.empty() || name.back() != '\0') reject(somewhere + ": an odd name");
    name.pop_back();
    if (!is_name(name)) reject(somewhere + ": an odd name");
    Scanner type(in.take(type_bytes), name), space(in.take(space_bytes), name);
    const std::uint64_t kind = element(type);
    if (!shape(space, name).empty()) reject(name + ": not a scalar");
    if (kind == element_of(0, 8)) return {name, static_cast<std::int64_t>(in.number(8))};
    const std::uint64_t length = kind & 0xffffffff;
    if (kind >> 32 != 3 || length == 0 || length > kMaxTextBytes)
      reject(name + ": neither an int64 nor a short text of fixed length");
    std::string text = in.text(length);
    if (text.find('\0') != std::string::npos) reject(name + ": a NUL in its text");
    return {name, text};
  }

  void group(Object& it, const std::string& path, int depth) {
    const std::string where = path.empty() ? "/" : path;
    if (it.heap != kNowhere) read_heap(it.heap, where, it.links);
    std::vector<Link>& links = it.links;
    std::sort(links.begin(), links.end(),
              [](const Link& a, const Link& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < links.size(); ++i) {
      if (links[i].name == links[i - 1].name)
        reject(path + "/" + links[i].name + ": two objects of this name");
    }
    std::sort(links.begin(), links.end(),
              [](const Link& a, const Link& b) { return a.order < b.order; });
    for (const Link& link : links) object(link.address, path + "/" + link.name, depth + 1);
  }

  void read_heap(std::uint64_t address, const std::string& where, std::vector<Link>& links) {
    constexpr const char* kWhat = "a heap of links";
    Scanner in(part(address, 146, where), where);
    in.expect("FRHP");
    in.take(106);
    in.expect(kHeapWidth, 2, kWhat);
    in.expect(kHeapStart, 8, kWhat);
    in.expect(kHeapDirect, 8, kWhat);
    in.expect(kHeapBits, 2, kWhat);
    in.take(2);
    const std::uint64_t root = in.number(8), rows = in.number(2);
    if (rows == 0) {
      read_links(root, kHeapStart, where, links);
    } else {
      read_table(root, rows, where, links);
    }
  }

  void read_table(std::uint64_t address, std::uint64_t rows, const std::string& where,
                  std::vector<Link>& links) {
    if (rows > kHeapMaxRows) reject_form(where, "a heap of links");
    const ByteView table = part(address, kTableHead + rows * kHeapWidth * 8, where);
    Scanner in(table, where);
    in.expect("FHIB");
    in.take(kTableHead - 4);
    for (std::uint64_t i = 0; i < rows * kHeapWidth; ++i) {
      const std::uint64_t block = in.number(8), row = i / kHeapWidth;
      const std::uint64_t size = row < 2 ? kHeapStart : kHeapStart << (row - 1);
      if (block == kNowhere) continue;
      if (size <= kHeapDirect) {
        read_links(block, size, where, links);
      } else {  // so many rows that they hold `size` bytes
        read_table(block, std::bit_width(size / (kHeapStart * kHeapWidth)), where, links);
      }
    }
  }

  void read_links(std::uint64_t address, std::uint64_t size, const std::string& where,
                  std::vector<Link>& links) {
    const ByteView block = part(address, size, where);
    Scanner(block, where).expect("FHDB");
    Scanner in(block.subspan(kBlockHead), where);
    for (std::size_t at = kBlockHead; at < size && block[at] != std::byte{0}; at = size - in.left())
      links.push_back(link(in, where));
  }

  void dataset(const Object& it, const std::string& path) {
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const KnownType& k) { return k.element == it.element; });
    if (known == kTypes.end())
      reject(path +
             ": an element type other than float32, uint8, uint32 and int64 (little-endian)");
    std::uint64_t bytes = size_of(known->type);
    for (const std::int64_t dim : it.shape) {
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim), &bytes))
        reject(path + ": its size overflows");
    }
    if (it.bytes != bytes) reject(path + ": its storage is not of the size of its shape");
    if (it.offset > image_.size() || bytes > image_.size() - it.offset)
      reject(path + ": its bytes are not inside the file");
    tensor_bytes_ += bytes;
    if (tensor_bytes_ > image_.size()) reject(path + ": its bytes overlap others");
    found_.specs.push_back({path, known->type, it.shape});
  }

  ByteView image_;
  Description found_;
  std::uint64_t spent_ = 0, tensor_bytes_ = 0;
};

// The superblock: version 2, as bounds V18 give, whole, without extensions. Returns where the root
// group is.
std::uint64_t check_superblock(ByteView image) {
  static constexpr std::array<unsigned char, 12> kHead{0x89, 'H',  'D', 'F', '\r', '\n',
                                                       0x1a, '\n', 2,   8,   8,    0};
  constexpr std::size_t kSize = 48;
  if (image.size() < kSize)
    reject("not an HDF5 file, or cut off: " + std::to_string(image.size()) + " bytes");
  if (std::memcmp(image.data(), kHead.data(), 8) != 0) reject("not an HDF5 file");
  if (std::memcmp(image.data(), kHead.data(), kHead.size()) != 0 ||
      get_u64_le(image.subspan(12, 8)) != 0 || get_u64_le(image.subspan(20, 8)) != kNowhere) {
    reject("an HDF5 file of a form that this program does not write");
  }
  if (const std::uint64_t end = get_u64_le(image.subspan(28, 8)); end != image.size()) {
    reject("the file says that it has " + std::to_string(end) + " bytes and has " +
           std::to_string(image.size()) + ": cut off or appended to");
  }
  return get_u64_le(image.subspan(36, 8));
}

}  // namespace

Description parse(ByteView image) {
  const std::uint64_t root = check_superblock(image);
  return Parser(image).run(root);
}

}  // namespace lockstep::hdf5
