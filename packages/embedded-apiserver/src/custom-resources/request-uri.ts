/** Problem of a text as an absolute URL, or as an absolute path, in the words of Go's `url.ParseRequestURI`; `undefined` if it is one. */
export function urlProblem(text: string): string | undefined {
  const problem = startProblem(text) ?? hostProblem(text) ?? escapeProblem(text);
  return problem === undefined ? undefined : `parse ${JSON.stringify(text)}: ${problem}`;
}

function startProblem(text: string): string | undefined {
  if (text === "") return "empty url";
  // oxlint-disable-next-line no-control-regex -- Go refuses exactly these
  if (/[\u0000-\u001F\u007F]/.test(text)) return "net/url: invalid control character in URL";
  if (text.startsWith(":")) return "missing protocol scheme";
  if (/^([A-Za-z][\w+.-]*:)?\//.test(text)) return undefined;
  return /^[A-Za-z][\w+.-]*:./.test(text) ? undefined : "invalid URI for request";
}

function hostProblem(text: string): string | undefined {
  const host = /^[A-Za-z][\w+.-]*:\/\/([^/?#]*)/.exec(text)?.[1] ?? "";
  const [bad] = /[ <>"\\^`{|}]/.exec(host) ?? [];
  if (bad !== undefined) return `invalid character ${JSON.stringify(bad)} in host name`;
  if (host.startsWith("[") && !host.includes("]")) return "missing ']' in host";
  const port = host.endsWith("]") ? "" : (/:([^\]:]*)$/.exec(host)?.[1] ?? "");
  return /^\d*$/.test(port) ? undefined : `invalid port ${JSON.stringify(`:${port}`)} after host`;
}

function escapeProblem(text: string): string | undefined {
  // What follows a scheme without a slash, as in `urn:x`, is not read.
  if (!/^([A-Za-z][\w+.-]*:)?\//.test(text)) return undefined;
  const [bad] = /%(?![\dA-Fa-f]{2}).{0,2}/s.exec(text.replace(/[?#].*$/s, "")) ?? [];
  return bad === undefined ? undefined : `invalid URL escape ${JSON.stringify(bad)}`;
}
