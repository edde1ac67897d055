// search.js - finds the words of ?q= in all sections of the site, also where it is opened from a folder.
const query = new URLSearchParams(location.search).get("q") ?? "";
const found = document.getElementById("search-results");
const sections = new Map(search_index.docs.map((section) => [section.location, section]));

const index = lunr(function () {
  this.ref("location");
  this.field("title", { boost: 10 });
  this.field("text");
  search_index.docs.forEach((section) => this.add(section), this);
});

// Words as they are, by their beginnings, and with one letter wrong: the first way that finds anything.
function search(words) {
  const ways = [
    (term, word) => term(word, { presence: lunr.Query.presence.REQUIRED }),
    (term, word) => term(word, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false }),
    (term, word) => term(word, { editDistance: 1 }),
  ];
  for (const way of ways) {
    const hits = index.query((asked) => words.forEach((word) => way(asked.term.bind(asked), word)));
    if (hits.length) return hits;
  }
  return [];
}

// Sections that have the words side by side come first; of several words, which may be an error message, those of the page
// of errors before others.
function phraseFirst(hits, words) {
  const phrase = query.trim().toLowerCase();
  const has = ({ ref }) => sections.get(ref).text.toLowerCase().includes(phrase);
  const rank = (hit) => (has(hit) ? 1 + (words.length > 1 && hit.ref.startsWith("errors.html")) : 0);
  return [...hits].sort((a, b) => rank(b) - rank(a));
}

// The index has a page whole, and each of its sections: a page is shown only where none of its sections has all words.
function once(hits) {
  const pageOf = (ref) => ref.split("#")[0];
  const shown = new Set(hits.filter(({ ref }) => ref !== pageOf(ref)).map(({ ref }) => pageOf(ref)));
  return hits.filter(({ ref }) => !shown.has(ref));
}

function excerpt(text, words) {
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word)));
  const begin = at > 80 ? text.indexOf(" ", at - 80) + 1 : 0;
  return (begin ? "… " : "") + text.slice(begin, begin + 220).trim() + (text.length > begin + 220 ? " …" : "");
}

function show(hits, words) {
  found.textContent = hits.length ? "" : "Nothing found.";
  for (const { ref } of hits.slice(0, 30)) {
    const section = sections.get(ref);
    const page = sections.get(ref.split("#")[0]);
    const title = document.createElement("h3");
    const link = document.createElement("a");
    link.href = base_url + "/" + ref;
    link.textContent = page && page.title !== section.title ? `${page.title}: ${section.title}` : section.title;
    title.append(link);
    const text = document.createElement("p");
    text.textContent = excerpt(section.text, words);
    found.append(title, text);
  }
}

document.querySelector("input[name=q]").value = query;
const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
const indexed = words.filter(lunr.stopWordFilter); // lunr does not index words such as "is" and "not"
if (indexed.length) show(once(phraseFirst(search(indexed), words)), indexed);
else show([], words);
