import { parseAllDocuments } from "yaml";

// The build replaces this module by one that contains the library: a node reads a kubeconfig whenever it starts, and the library is 72 modules.

/**
 * Parses the first document of a text as kubectl does: merge keys are read, and of equal keys the last one counts. Returns `null` for an empty
 * text.
 *
 * @throws Error with the position; it does not quote the text, which may hold a token
 */
export function parseFirstDocument(text: string): unknown {
  const documents = parseAllDocuments(text, { prettyErrors: false, merge: true, uniqueKeys: false });
  const [first] = Array.isArray(documents) ? documents : [];
  if (first === undefined) return null;
  const [problem] = first.errors;
  if (problem) throw problem;
  return first.toJS();
}
