/** One PEM block (RFC 7468), with lines of 64 characters. */
export function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** The bytes of the first PEM block with this label; `undefined` if there is none. Text around it is ignored. */
export function fromPem(label: string, pem: string): Buffer | undefined {
  const [, body] = new RegExp(`-----BEGIN ${label}-----\\s([A-Za-z0-9+/=\\s]*)-----END ${label}-----`).exec(pem) ?? [];
  return body === undefined ? undefined : Buffer.from(body, "base64");
}
