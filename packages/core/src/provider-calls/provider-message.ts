import { messageOf } from "@virtual-kubelet/errdefs";

/** The longest message that goes from a provider into a condition or an event. */
const maxLength = 512;

/** Shapes of secrets that back ends put in their messages; the first group stays. */
const secretPatterns: readonly RegExp[] = [
  // user:password@ of a URL
  /([a-z][a-z0-9+.-]*:\/\/)[^\s/]+(?=@)/gi,
  /\b((?:bearer|basic)\s+)[A-Za-z0-9+/._~-]{8,}=*/gi,
  /\b((?:api[-_]?key|access[-_]?key|authorization|passw(?:or)?d|secret|signature|token)["']?\s*[=:]\s*["']?)(?!bearer\b|basic\b|\[redacted\])[^\s"'&,;]+/gi,
];

/** An error's message, fit to be shown to everybody who may read the node: one line, no credentials, not too long. */
export function providerMessage(error: unknown): string {
  const line = messageOf(error).replaceAll(/\s+/g, " ").trim() || "the provider gave no message";
  const redacted = secretPatterns.reduce((text, pattern) => text.replaceAll(pattern, "$1[redacted]"), line);
  return redacted.length > maxLength ? `${redacted.slice(0, maxLength - 1)}…` : redacted;
}
