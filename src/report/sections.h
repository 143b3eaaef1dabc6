// The page's parts, in the page's order.
#pragma once

#include "lockstep/core/counted.h"
#include "report/facts.h"
#include "report/html.h"

namespace lockstep::report {

Html verdict(const Facts& facts);
Html summary(const Facts& facts);
Html curves(const Facts& facts);
Html samples(const Facts& facts);
Html attempts(const Facts& facts);
Html layers(const Facts& facts);
Html ranks(const Facts& facts);
Html evidence(const Facts& facts);
Html environments(const Facts& facts);
Html recipe(const Facts& facts);

// The page's style, and the script that shows values under the pointer; style.cpp.
extern const std::string_view kStyle, kScript;

// The whole page.
std::string page(const Facts& facts);

// What several parts use.
std::string name_of(const Facts& facts);
std::int64_t steps_of(const Facts& facts);  // in the ledger, as far as it holds
double last_step(const Facts& facts);       // that anything is drawn at
Html section(const std::string& title, const Html& content);
Html paragraph(const std::string& sentence);

}  // namespace lockstep::report
