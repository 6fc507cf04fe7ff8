import { isOfFormat } from "../../custom-resources/formats.ts";
import { urlProblem } from "../../custom-resources/request-uri.ts";
import { labelKeyProblems, labelValueProblems } from "../../kinds/validation/label-syntax.ts";
import { dns1035LabelProblems, dnsLabelProblems, dnsSubdomainProblems } from "../../kinds/validation/names.ts";
import { declare, type FunctionPart } from "../signatures.ts";
import { ArrayList, CelOptional, EntryMap, EvaluationError, Opaque, type Value } from "../values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/cel/library/urls.go, format.go and jsonpatch.go. */

/** An absolute URL or an absolute path. */
class Url extends Opaque {
  readonly typeName = "kubernetes.URL";
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string) {
    super();
    const [, scheme = "", host = "", path = "", query = ""] =
      /^(?:([A-Za-z][\w+.-]*):)?(?:\/\/(?:[^/?#@]*@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?/.exec(text) ?? [];
    this.text = text;
    this.scheme = scheme.toLowerCase();
    this.host = host;
    this.path = path.replaceAll(/[^\w\-.~!$&'()*+,;=:@/%]/gu, (character) => encodeURIComponent(character));
    this.query = query;
  }

  override equals(other: Value): boolean {
    return other instanceof Url && other.text === this.text;
  }

  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host)?.[1] ?? "";
  }
}

function parseUrl(text: string): Url {
  const problem = urlProblem(text);
  if (problem !== undefined) throw new EvaluationError(`URL parse error during conversion from string: ${problem}`);
  return new Url(text);
}

function queryOf({ query }: Url): EntryMap {
  const parameters = new URLSearchParams(query);
  return new EntryMap(Array.from(new Set(parameters.keys()), (key): [Value, Value] => [key, new ArrayList(parameters.getAll(key))]));
}

const url = (value: Value | undefined): Url => value as Url;

export const urlFunctions: readonly FunctionPart[] = [
  declare("url", ["string_to_url (string) -> URL"], (text) => parseUrl(String(text))),
  declare("isURL", ["is_url_string (string) -> bool"], (text) => urlProblem(String(text)) === undefined),
  declare("getScheme", ["url_get_scheme URL.() -> string"], (value) => url(value).scheme),
  declare("getHost", ["url_get_host URL.() -> string"], (value) => url(value).host),
  declare("getHostname", ["url_get_hostname URL.() -> string"], (value) => url(value).hostname),
  declare("getPort", ["url_get_port URL.() -> string"], (value) => url(value).port),
  declare("getEscapedPath", ["url_get_escaped_path URL.() -> string"], (value) => url(value).path),
  declare("getQuery", ["url_get_query URL.() -> map(string, list(string))"], (value) => queryOf(url(value))),
];

/** A named format. */
class Format extends Opaque {
  readonly typeName = "kubernetes.NamedFormat";
  readonly name: string;
  readonly problems: (text: string) => readonly string[];
  readonly #size: number;

  constructor(name: string, size: number, problems: (text: string) => readonly string[]) {
    super();
    this.name = name;
    this.#size = size;
    this.problems = problems;
  }

  override equals(other: Value): boolean {
    return other instanceof Format && other.name === this.name;
  }

  override get size(): number {
    return this.#size;
  }
}

const prefix =
  (problems: (text: string) => readonly string[]) =>
  (text: string): readonly string[] =>
    problems(text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text);
const named =
  (format: string, problem: string) =>
  (text: string): readonly string[] =>
    isOfFormat(format, text) ? [] : [problem];

function uriProblems(text: string): readonly string[] {
  const problem = urlProblem(text);
  return problem === undefined ? [] : [problem];
}

/** Formats with the lengths of the patterns that their costs are computed from. */
const formats: ReadonlyMap<string, Format> = new Map([
  ["dns1123Label", new Format("DNS1123Label", 30, dnsLabelProblems)],
  ["dns1123Subdomain", new Format("DNS1123Subdomain", 60, dnsSubdomainProblems)],
  ["dns1035Label", new Format("DNS1035Label", 30, dns1035LabelProblems)],
  ["qualifiedName", new Format("QualifiedName", 60, labelKeyProblems)],
  ["dns1123LabelPrefix", new Format("DNS1123LabelPrefix", 30, prefix(dnsLabelProblems))],
  ["dns1123SubdomainPrefix", new Format("DNS1123SubdomainPrefix", 60, prefix(dnsSubdomainProblems))],
  ["dns1035LabelPrefix", new Format("DNS1035LabelPrefix", 30, prefix(dns1035LabelProblems))],
  ["labelValue", new Format("LabelValue", 40, labelValueProblems)],
  ["uri", new Format("URI", 1103, uriProblems)],
  ["uuid", new Format("uuid", 70, named("uuid", "does not match the UUID format"))],
  ["byte", new Format("byte", 84, named("byte", "invalid base64"))],
  ["date", new Format("date", 71, named("date", "invalid date"))],
  ["datetime", new Format("datetime", 71, named("date-time", "invalid datetime"))],
]);

export const formatFunctions: readonly FunctionPart[] = [
  ...Array.from(formats, ([name, format]) => declare(`format.${name}`, [`format.${name} () -> NamedFormat`], () => format)),
  declare("format.named", ["format-named (string) -> optional(NamedFormat)"], (name) => new CelOptional(formats.get(String(name)))),
  declare("validate", ["format-validate NamedFormat.(string) -> optional(list(string))"], (format, text) => {
    const problems = (format as Format).problems(String(text));
    return problems.length === 0 ? new CelOptional() : new CelOptional(new ArrayList(problems));
  }),
];

/** Functions of expressions that return patches. */
export const patchFunctions: readonly FunctionPart[] = [
  declare("jsonpatch.escapeKey", ["string_jsonpatch_escapeKey_string (string) -> string"], (key) =>
    String(key).replaceAll("~", "~0").replaceAll("/", "~1"),
  ),
];
