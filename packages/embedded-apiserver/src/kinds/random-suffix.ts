import type { Random } from "@virtual-kubelet/clock";

/** Without vowels, to avoid accidental words. Source: k8s.io/apimachinery v0.36.3 pkg/util/rand/rand.go. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** Random characters that Kubernetes appends to names; default: five. */
export function randomSuffix(random: Random, length: number = 5): string {
  return Array.from({ length }, () => alphabet[Math.floor(random.next() * alphabet.length)]).join("");
}

/**
 * Maps each character to one of the alphabet that is safe in names.
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/rand/rand.go, SafeEncodeString.
 */
export function safeEncode(text: string): string {
  return Array.from(text, (character) => alphabet[character.charCodeAt(0) % alphabet.length]).join("");
}
