/** What a TLS connection to an API server takes. All of it is PEM. */
export interface TlsMaterial {
  /** Authorities the server's certificate must come from. Default: the system's. */
  readonly ca?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Name the server's certificate must bear, where it is not the URL's host. */
  readonly serverName?: string | undefined;
  /** Believe any server. */
  readonly insecureSkipVerify?: boolean | undefined;
}

/** Who a client is, at one time. */
export interface Identity {
  /** Another object means other connections: it must stay the same while nothing changed. */
  readonly tls: TlsMaterial;
  /** Value of the `Authorization` header. */
  readonly authorization?: string | undefined;
}

/** Where an API server is, and who we are to it. Tokens and certificates may change while the program runs. */
export interface Credentials {
  /** URL of the API server, without a trailing slash. */
  readonly server: string;
  /** URL of the proxy that leads there: `http:`, `https:` or `socks5:`, with `user:password@` where it asks for them. Default: none. */
  readonly proxy?: string | undefined;
  /** Headers of every request besides `Authorization`, such as those of impersonation. Several values are several headers. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /**
   * Who we are now. Cheap: it reads files or runs a command only when what it has is due.
   *
   * @throws UnauthorizedError when a token cannot be had; `signal.reason`
   */
  current(signal: AbortSignal): Promise<Identity>;
  /** The server refused the identity: reads it anew, whatever its age. */
  refresh(signal: AbortSignal): Promise<void>;
}
