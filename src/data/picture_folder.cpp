// A folder of pictures, or of folders of pictures: then each of these is a class.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/data/decode.h"
#include "lockstep/data/idx.h"
#include "picture_stack.h"
#include "raw_file.h"
#include "source_kinds.h"

namespace lockstep::data {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kMostFile = std::uint64_t{1} << 30;  // bytes

// What a folder holds, by paths relative to it.
struct Listing {
  std::vector<std::string> pictures, others;
  std::vector<std::string> tops;   // folders
  std::vector<std::string> links;  // to folders, below these

  // `file` stands at `path`.
  void add(const stdfs::path& file, const std::string& path) {
    const std::string name = file.filename().string();
    if (!name.starts_with('.')) (is_picture_name(name) ? pictures : others).push_back(path);
  }
};

[[noreturn]] void refuse_unlisted(const stdfs::path& folder, const stdfs::filesystem_error& error) {
  throw Error(Code::kData, "cannot list " + folder.string() + ": " + error.code().message(),
              "make it readable, or move it away");
}

// A link whose folder is not mounted, or not for this user, would be a class less, and the others
// would have other numbers.
void require_target(const stdfs::directory_entry& link) {
  std::error_code why;
  if (!link.is_symlink(why)) return;
  const stdfs::file_type type = link.status(why).type();
  if (type == stdfs::file_type::none || type == stdfs::file_type::not_found)
    throw Error(
        Code::kData,
        link.path().string() + " is a link, and what it names cannot be reached: " + why.message(),
        "make it readable, or remove the link");
}

// Links to files and to the folders of classes are followed, deeper ones are not: they may lead in
// a circle.
Listing list(const stdfs::path& folder) {
  Listing found;
  for (const stdfs::directory_entry& entry : stdfs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    std::error_code gone;
    if (!entry.is_directory(gone)) {
      if (!name.starts_with('.') && !is_picture_name(name)) require_target(entry);
      found.add(entry.path(), name);
      continue;
    }
    if (name.starts_with('.')) continue;
    found.tops.push_back(name);
    stdfs::path at = entry.path();  // which the iterator's errors do not say
    try {
      for (auto below = stdfs::recursive_directory_iterator(at);
           below != stdfs::recursive_directory_iterator(); ++below) {
        at = below->path();
        const bool hidden = at.filename().string().starts_with('.');
        if (below->is_directory(gone) && hidden) below.disable_recursion_pending();
        const std::string path = name + "/" + at.lexically_relative(entry).string();
        if (!below->is_directory(gone))
          found.add(at, path);
        else if (below->is_symlink(gone) && !hidden)
          found.links.push_back(path);
      }
    } catch (const stdfs::filesystem_error& error) {
      refuse_unlisted(at, error);
    }
  }
  std::ranges::sort(found.pictures);
  std::ranges::sort(found.others);
  std::ranges::sort(found.tops);
  std::ranges::sort(found.links);
  return found;
}

std::string top_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// In byte order; none if the pictures lie in `folder` itself.
std::vector<std::string> classes_of(const stdfs::path& folder, const Listing& found) {
  std::set<std::string> tops;
  for (const std::string& picture : found.pictures) tops.insert(top_of(picture));
  if (tops.size() == 1 && tops.contains("")) return {};
  if (tops.contains(""))
    throw Error(Code::kData,
                folder.string() + " has pictures and folders with pictures, " +
                    *std::next(tops.begin()) + " is one",
                "a folder for each class, or pictures alone");
  return {tops.begin(), tops.end()};
}

Picture read_picture(const stdfs::path& path) {
  const auto file = open_data_file(path);
  const std::uint64_t size = file->size();
  if (size > kMostFile) throw Error(Code::kData, path.string() + ": larger than 1 GiB");
  Bytes bytes(size);
  bytes.resize(file->read_at(0, bytes));
  try {
    return decode_picture(bytes);
  } catch (const Error& e) {
    throw e.within(path.string());
  }
}

[[noreturn]] void refuse_empty(const stdfs::path& folder, const Listing& found) {
  const std::string others =
      found.others.empty() ? "is empty" : "has no pictures: " + found.others[0] + " is none";
  throw Error(Code::kData, folder.string() + " " + others,
              "give a folder of PNG or JPEG files, or one with train-images-idx3-ubyte[.gz]");
}

void warn_of_others(const stdfs::path& folder, const Listing& found) {
  if (found.others.empty()) return;
  log::warn(folder.string() + ": " + counted(found.others.size(), "file") +
            (found.others.size() == 1
                 ? " is no picture by its name and is left out: "
                 : " are no pictures by their names and are left out, the first: ") +
            found.others[0]);
}

void warn_of_links(const stdfs::path& folder, const Listing& found) {
  if (found.links.empty()) return;
  log::warn(folder.string() + ": " +
            counted(found.links.size(), "link to a folder", "links to folders") +
            " inside a class " + (found.links.size() == 1 ? "is" : "are") +
            " not followed, such as " + found.links[0]);
}

void warn_of_no_classes(const stdfs::path& folder, const Listing& found,
                        const std::vector<std::string>& classes) {
  if (classes.empty()) return;
  for (const std::string& one : found.tops)
    if (std::ranges::find(classes, one) == classes.end())
      log::warn((folder / one).string() + " has no pictures: it is no class");
}

// What the user calls them, in place of those that are there.
std::vector<std::string> named(const stdfs::path& folder, const std::vector<std::string>& there,
                               const std::vector<std::string>& wanted) {
  if (there.empty())
    throw Error(Code::kUsage, "--classes: " + folder.string() + " has no folders with pictures",
                "leave it out, or give a folder with a folder for each class");
  for (const std::string& one : there)
    if (std::ranges::find(wanted, one) == wanted.end())
      throw Error(Code::kUsage,
                  (folder / one).string() + " is none of the classes " + joined(wanted, ","),
                  "add it to --classes, where its place is its number, or move it away");
  return wanted;
}

void require_names(const stdfs::path& folder, const std::vector<std::string>& classes) try {
  require_class_names(classes);
} catch (const Error& error) {
  throw error.within(folder.string());
}

// A data set's parts, as most of them are published, would be classes.
void warn_of_parts(const stdfs::path& folder, const std::vector<std::string>& classes) {
  static const std::vector<std::string> parts = {"train",      "training", "val",    "valid",
                                                 "validation", "test",     "testing"};
  std::vector<std::string> found;
  for (const std::string& one : parts)
    if (std::ranges::binary_search(classes, one)) found.push_back(one);
  if (found.size() < 2) return;
  log::warn(folder.string() + ": its folders become classes, and " + found[0] + " and " + found[1] +
            " are rather parts of a data set: give " + (folder / found[0]).string());
}

// A folder's name reads like its number, and is not.
void warn_of_numbers(const std::vector<std::string>& classes) {
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (const auto number = parse_int(classes[i]);
        number && *number != static_cast<std::int64_t>(i))
      return log::warn("the class of the folder " + classes[i] + " is " + std::to_string(i) +
                       ": folders are numbered from 0 in byte order; --classes gives them others");
}

Source read_listed(const stdfs::path& folder, const Listing& found,
                   std::vector<std::string> classes, const SourceOptions& options,
                   PictureStack& stack) {
  Source source;
  source.all.classes = std::move(classes);
  const auto total = static_cast<std::int64_t>(found.pictures.size());
  stack.expect(total);
  std::map<std::string, std::uint32_t> labels;
  for (const std::string& name : source.all.classes)
    labels.emplace(name, static_cast<std::uint32_t>(labels.size()));
  if (options.progress) options.progress(0, total);
  std::int64_t done = 0;
  for (const std::string& name : found.pictures) {
    const std::string path = (folder / name).string();
    Picture picture;
    try {
      picture = read_picture(path);
    } catch (const Error& e) {
      if (e.code() != Code::kData) throw;
      if (!options.skip_broken)
        throw Error(
            Code::kData, e.message(),
            "repair or remove it; --skip-broken leaves out all such files and lists them" +
                (done + 1 < total
                     ? "; " + counted(total - done - 1, "file after it is", "files after it are") +
                           " not looked at yet"
                     : ""));
      source.left_out.push_back({path, e.message()});
    }
    if (!picture.pixels.empty()) {
      stack.add(std::move(picture), path);
      if (!labels.empty()) source.all.labels.push_back(labels.at(top_of(name)));
    }
    if (options.progress) options.progress(++done, total);
  }
  if (stack.count() == 0)
    throw Error(Code::kData, folder.string() + ": none of " + counted(total, "picture") +
                                 " can be read: " + source.left_out[0].why);
  source.all.labels_from = folder;
  return source;
}

}  // namespace

bool is_picture_folder(const stdfs::path& path) {
  std::error_code error;
  return stdfs::is_directory(path, error) && !has_idx(path) && !is_sharded(path);
}

Source read_picture_folder(const stdfs::path& folder, const SourceOptions& options,
                           PictureStack& stack) try {
  const Listing found = list(folder);
  if (found.pictures.empty()) refuse_empty(folder, found);
  warn_of_others(folder, found);
  warn_of_links(folder, found);
  std::vector<std::string> classes = classes_of(folder, found);
  if (!options.classes.empty()) classes = named(folder, classes, options.classes);
  if (options.labels_wanted && options.labels.empty()) require_names(folder, classes);
  warn_of_no_classes(folder, found, classes);
  if (options.labels_wanted && options.labels.empty() && options.classes.empty()) {
    warn_of_parts(folder, classes);
    warn_of_numbers(classes);
  }
  return read_listed(folder, found, std::move(classes), options, stack);
} catch (const stdfs::filesystem_error& e) {
  refuse_unlisted(folder, e);
} catch (const std::bad_alloc&) {
  throw no_memory(folder, "its pictures");
}

}  // namespace lockstep::data
