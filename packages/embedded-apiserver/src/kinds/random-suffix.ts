import type { Random } from "@virtual-kubelet/clock";

/** No vowels, so that no words come about. Source: k8s.io/apimachinery v0.36.3 pkg/util/rand/rand.go. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** Five random characters, as Kubernetes appends them to names. */
export function randomSuffix(random: Random, length: number = 5): string {
  return Array.from({ length }, () => alphabet[Math.floor(random.next() * alphabet.length)]).join("");
}

/**
 * Makes digits safe for names: each becomes a character of the alphabet.
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/rand/rand.go, SafeEncodeString.
 */
export function safeEncode(text: string): string {
  return Array.from(text, (character) => alphabet[character.charCodeAt(0) % alphabet.length]).join("");
}
