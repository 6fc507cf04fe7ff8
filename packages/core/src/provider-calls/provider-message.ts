import { messageOf } from "@virtual-kubelet/errdefs";

/** Maximum length of a provider's message in a condition or an event. */
const maxLength = 512;

/** Patterns of secrets in messages of back ends; the first group is kept. */
const secretPatterns: readonly RegExp[] = [
  // user:password@ of a URL
  /([a-z][a-z0-9+.-]*:\/\/)[^\s/]+(?=@)/gi,
  /\b((?:bearer|basic)\s+)[A-Za-z0-9+/._~-]{8,}=*/gi,
  /\b((?:api[-_]?key|access[-_]?key|authorization|passw(?:or)?d|secret|signature|token)["']?\s*[=:]\s*["']?)(?!bearer\b|basic\b|\[redacted\])[^\s"'&,;]+/gi,
];

/** Returns an error's message for everybody who may read the node: one line, without credentials, of limited length. */
export function providerMessage(error: unknown): string {
  const line = messageOf(error).replaceAll(/\s+/g, " ").trim() || "the provider gave no message";
  const redacted = secretPatterns.reduce((text, pattern) => text.replaceAll(pattern, "$1[redacted]"), line);
  return redacted.length > maxLength ? `${redacted.slice(0, maxLength - 1)}…` : redacted;
}
