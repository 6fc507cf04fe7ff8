/** The certificates that client certificates must come from, which may change while the server runs. */
export interface ClientCa {
  /** PEM; `undefined` while there is none: no client certificate counts then. */
  current(): string | undefined;
  /** Calls back when {@link current} has changed. @returns what ends that */
  onChange(listener: () => void): Disposable;
  /** Resolves when it was looked for once, found or not, or when {@link run} ends. */
  readonly searched: Promise<void>;
  /** Keeps it up to date until aborted; resolves then. To be called once. */
  run(signal: AbortSignal): Promise<void>;
}

/** No client certificate counts. */
export const noClientCa: ClientCa = {
  current: () => undefined,
  onChange: () => ({ [Symbol.dispose]() {} }),
  searched: Promise.resolve(),
  run: () => Promise.resolve(),
};
