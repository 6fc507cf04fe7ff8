import type { Clock } from "@virtual-kubelet/clock";
import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import type { Metrics } from "@virtual-kubelet/kube-client";
import type { CredentialSource, User } from "../access-control/access-control.ts";
import { parseCaBundle } from "./ca-bundle.ts";
import type { ClientCa } from "./client-ca.ts";

/** Attribute of the subject that holds a user's UID. Source: kubernetes v1.36.3 apiserver authentication/request/x509. */
const uidAttribute = "1.3.6.1.4.1.57683.2";

/** Extended key usage of a client's certificate, RFC 5280 §4.2.1.12. */
const clientAuth = "1.3.6.1.5.5.7.3.2";

/** Key in the user's `extra` that identifies the certificate. Source: as {@link uidAttribute}. */
const credentialId = "authentication.kubernetes.io/credential-id";

export interface ClientCertificatesOptions {
  readonly clientCa: ClientCa;
  readonly clock: Clock;
  /** Observes `apiserver_client_certificate_expiration_seconds`. */
  readonly metrics: Metrics;
}

interface Seen {
  readonly certificate: X509Certificate;
  readonly user: User | undefined;
  /** CA bundle that {@link isTrusted} was computed with. */
  bundle: string | undefined;
  isTrusted: boolean;
}

/** Authenticates callers by client certificate. Results are cached for the lifetime of a connection. */
export class ClientCertificates {
  readonly #options: ClientCertificatesOptions;
  readonly #seen = new WeakMap<object, Seen>();
  #authorities: { readonly pem: string; readonly certificates: readonly X509Certificate[] } | undefined;

  constructor(options: ClientCertificatesOptions) {
    this.#options = options;
  }

  /** Whether the client sent a certificate, valid or not. */
  wasShown({ socket }: CredentialSource): boolean {
    return this.#look(socket) !== undefined;
  }

  /**
   * The certificate's user; `undefined` if there is no certificate, it names nobody, or the current client CA did not issue it. The latter
   * is checked on existing connections as well.
   */
  authenticate({ socket, judgedBy }: CredentialSource): User | undefined {
    const { clientCa, clock, metrics } = this.#options;
    const bundle = clientCa.current();
    const seen = this.#look(socket);
    if (seen?.user === undefined || bundle === undefined) return undefined;
    if (seen.bundle !== bundle) {
      seen.isTrusted = (socket.authorized && judgedBy === bundle) || this.#isIssuedBy(seen.certificate, bundle);
      seen.bundle = bundle;
    }
    const { validFromDate, validToDate } = seen.certificate;
    const nowMs = clock.now();
    if (!seen.isTrusted || nowMs < validFromDate.getTime() || nowMs > validToDate.getTime()) return undefined;
    metrics.observe("apiserver_client_certificate_expiration_seconds", (validToDate.getTime() - nowMs) / 1000);
    return seen.user;
  }

  #look(socket: CredentialSource["socket"]): Seen | undefined {
    const known = this.#seen.get(socket);
    if (known) return known;
    // An empty object if the client sent none; null if the connection is gone.
    const shown = socket.getPeerCertificate() as Partial<PeerCertificate> | null;
    if (!shown?.raw || !shown.subject) return undefined;
    const certificate = new X509Certificate(shown.raw);
    const seen: Seen = {
      certificate,
      user: userOf(shown.subject, certificate),
      bundle: undefined,
      isTrusted: false,
    };
    this.#seen.set(socket, seen);
    return seen;
  }

  /** Checks against the current CA, because TLS does so only when a connection is established. */
  #isIssuedBy(certificate: X509Certificate, pem: string): boolean {
    if (this.#authorities?.pem !== pem) this.#authorities = { pem, certificates: parseCaBundle(pem) };
    const nowMs = this.#options.clock.now();
    // A certificate without the extension is valid for every usage.
    if (certificate.ca || (certificate.keyUsage as string[] | undefined)?.includes(clientAuth) === false) return false;
    return this.#authorities.certificates.some(
      (authority) =>
        authority.ca &&
        authority.validFromDate.getTime() <= nowMs &&
        nowMs <= authority.validToDate.getTime() &&
        certificate.checkIssued(authority) &&
        certificate.verify(authority.publicKey),
    );
  }
}

type Subject = Readonly<Record<string, string | readonly string[] | undefined>>;

function userOf(subject: Subject, certificate: X509Certificate): User | undefined {
  const name = valuesOf(subject["CN"]).at(-1);
  if (!name) return undefined;
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  return {
    name,
    uid: valuesOf(subject[uidAttribute]).at(0) || undefined,
    groups: valuesOf(subject["O"]),
    extra: { [credentialId]: [`X509SHA256=${fingerprint}`] },
  };
}

function valuesOf(attribute: string | readonly string[] | undefined): readonly string[] {
  if (attribute === undefined) return [];
  return typeof attribute === "string" ? [attribute] : attribute;
}
