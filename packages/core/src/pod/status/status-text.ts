/** Longest message of a pod's status or of one container, in bytes; a kubelet reads no more of a termination message. */
const maxMessageBytes = 4096;
/** What all container messages of a pod share. Source: MaxPodTerminationMessageLogLength of kubernetes v1.36.3. */
const sharedMessageBytes = 12 * 1024;
const minMessageBytes = 128;

/** Longest message of one container, in bytes, in a pod of so many containers. */
export function containerMessageBytes(containerCount: number): number {
  const share = Math.floor(sharedMessageBytes / Math.max(1, containerCount));
  return Math.max(minMessageBytes, Math.min(maxMessageBytes, share));
}

/**
 * A text as the API server would hold it: no longer than so many bytes of UTF-8, cut between characters.
 *
 * @param maxBytes - default 4096
 * @returns `undefined` for what is no text, and for an empty one
 */
export function statusText(value: unknown, maxBytes: number = maxMessageBytes): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const text = value.toWellFormed();
  // No character takes more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read) || undefined;
}
