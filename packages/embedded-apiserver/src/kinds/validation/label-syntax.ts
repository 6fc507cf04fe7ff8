/**
 * Syntax of labels, with the API server's messages.
 * Source: k8s.io/apimachinery v0.36.3 pkg/api/validate/content/kube.go.
 */

const namePattern = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const subdomainPattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const nameRule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const nameExamples = `(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${namePattern}')`;
const name = new RegExp(`^${namePattern}$`);
const value = new RegExp(`^(${namePattern})?$`);
const subdomain = new RegExp(`^${subdomainPattern}$`);

/** Problems with the key of a label, the lower-case key of an annotation, or the name of a finalizer. */
export function labelKeyProblems(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2)
    return [`a valid label key ${nameRule} ${nameExamples} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const problems = parts.length === 2 ? prefixProblems(parts[0] ?? "") : [];
  const local = parts.at(-1) ?? "";
  if (local === "") problems.push("name part must be non-empty");
  else if (local.length > 63) problems.push("name part must be no more than 63 bytes");
  if (!name.test(local)) problems.push(`name part ${nameRule} ${nameExamples}`);
  return problems;
}

function prefixProblems(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  const problems = prefix.length > 253 ? ["prefix part must be no more than 253 bytes"] : [];
  if (!subdomain.test(prefix)) {
    problems.push(
      "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
        `with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomainPattern}')`,
    );
  }
  return problems;
}

export function labelValueProblems(text: string): string[] {
  const problems = text.length > 63 ? ["must be no more than 63 bytes"] : [];
  if (!value.test(text)) {
    problems.push(
      `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an ` +
        `alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${namePattern})?')`,
    );
  }
  return problems;
}
