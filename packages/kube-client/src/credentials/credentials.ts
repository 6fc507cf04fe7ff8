/** TLS material for connections to an API server, in PEM. */
export interface TlsMaterial {
  /** Trusted authorities for the server's certificate. Default: the system's. */
  readonly ca?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Expected name in the server's certificate. Default: the URL's host. */
  readonly serverName?: string | undefined;
  /** Whether to trust any server. */
  readonly insecureSkipVerify?: boolean | undefined;
}

/** A client's identity at one time. */
export interface Identity {
  /** A different object leads to new connections, so it must stay the same object without a change. */
  readonly tls: TlsMaterial;
  /** Value of the `Authorization` header. */
  readonly authorization?: string | undefined;
}

/** Address of an API server, and the client's identity. Tokens and certificates may change while the program runs. */
export interface Credentials {
  /** URL of the API server, without a trailing slash. */
  readonly server: string;
  /** URL of the proxy: `http:`, `https:` or `socks5:`, with `user:password@` if it requires them. Default: none. */
  readonly proxy?: string | undefined;
  /** Headers of every request in addition to `Authorization`, such as those of impersonation. Several values are several headers. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Namespace of the kubeconfig's context, for callers without one of their own. Default: none. */
  readonly namespace?: string | undefined;
  /** Absolute path of the file with the client certificate; `undefined` if there is none, or it is not in a file. */
  readonly certificateFile?: string | undefined;
  /**
   * Returns the current identity. Cheap: it reads files or runs a command only when necessary.
   *
   * @throws UnauthorizedError if no token is available; `signal.reason`
   */
  current(signal: AbortSignal): Promise<Identity>;
  /** Renews an identity that the server refused, whatever its age. */
  refresh(signal: AbortSignal): Promise<void>;
}
