import { formatQuantity, type Quantity } from "@virtual-kubelet/kubernetes";

/**
 * Writes a quantity as the API server does: one that was written canonically but for a sign, zeros in front or the case
 * of its exponent stays as it was written.
 *
 * @param text - what the quantity was read from
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
