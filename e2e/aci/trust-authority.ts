import { getCACertificates, setDefaultCACertificates } from "node:tls";

/** Trusts an authority in this process, besides those that Node.js trusts, until the result is disposed. @param certificate - PEM */
export function trustAuthority(certificate: string): Disposable {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, certificate]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) };
}
