import { X509Certificate } from "node:crypto";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";

const block = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * The certificates of a PEM bundle. Text between them is ignored.
 *
 * @throws InvalidInputError if there is none, or one cannot be read
 */
export function parseCaBundle(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(block) ?? [];
  if (blocks.length === 0) throw new InvalidInputError("read a CA bundle: it has no PEM block CERTIFICATE");
  return blocks.map((text, index) => {
    try {
      return new X509Certificate(text);
    } catch (error) {
      throw new InvalidInputError(`read a CA bundle: certificate ${index + 1} of ${blocks.length}: ${messageOf(error)}`, { cause: error });
    }
  });
}
