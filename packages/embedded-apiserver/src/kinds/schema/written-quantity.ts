import { formatQuantity, type Quantity } from "@virtual-kubelet/kubernetes";

/**
 * Formats a quantity as the API server does: text that differs from the canonical form only by a sign, leading zeros or the case of its
 * exponent is kept.
 *
 * @param text - text from which the quantity was parsed
 */
export function writtenQuantity(text: string, quantity: Quantity): string {
  const canonical = formatQuantity(quantity);
  const plain = text
    .replace(/^\+?0*(?=\d)/, "")
    .replace(/E(?=[+-]?\d)/, "e")
    .replace(/e\+?0*(?=\d)/, "e")
    .replace(/e0$/, "");
  return plain === canonical && canonical !== "0" ? text : canonical;
}
