import type { CertificateStore, StoredCertificates } from "../certificates/certificate-store.ts";

/** A store in memory, which keeps copies as a file does. */
export class MemoryCertificateStore implements CertificateStore {
  stored: StoredCertificates = {};
  /** If set, nothing can be saved. */
  problem: Error | undefined;

  load = (): Promise<StoredCertificates> => Promise.resolve(this.stored);

  save = (stored: StoredCertificates): Promise<void> => {
    if (this.problem) return Promise.reject(this.problem);
    this.stored = JSON.parse(JSON.stringify(stored)) as StoredCertificates;
    return Promise.resolve();
  };
}
