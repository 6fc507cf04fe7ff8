/** Maximum length of a message of a pod or of one container, in bytes; a kubelet reads no more of a termination message. */
const maxMessageBytes = 4096;
/** Maximum length of all container messages of a pod together. Source: MaxPodTerminationMessageLogLength of kubernetes v1.36.3. */
const sharedMessageBytes = 12 * 1024;
const minMessageBytes = 128;

/** Returns the maximum length of one container's message, in bytes, in a pod with this number of containers. */
export function containerMessageBytes(containerCount: number): number {
  const share = Math.floor(sharedMessageBytes / Math.max(1, containerCount));
  return Math.max(minMessageBytes, Math.min(maxMessageBytes, share));
}

/**
 * Returns a text as the API server would store it, truncated between characters to a maximum number of UTF-8 bytes.
 *
 * @param maxBytes - default 4096
 * @returns `undefined` for an empty string and for other types
 */
export function statusText(value: unknown, maxBytes: number = maxMessageBytes): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const text = value.toWellFormed();
  // A character takes at most three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read) || undefined;
}
