/** CA bundle that verifies client certificates. It can change while the server runs. */
export interface ClientCa {
  /** PEM. `undefined` while no CA is known: then no client certificate is accepted. */
  current(): string | undefined;
  /** Calls back when {@link current} has changed. @returns subscription; disposing it ends the calls */
  onChange(listener: () => void): Disposable;
  /** Resolves after the first attempt to load the CA, successful or not, and at the latest when {@link run} returns. */
  readonly searched: Promise<void>;
  /** Keeps the bundle up to date, and resolves when aborted. Must be called once only. */
  run(signal: AbortSignal): Promise<void>;
}

/** Accepts no client certificate. */
export const noClientCa: ClientCa = {
  current: () => undefined,
  onChange: () => ({ [Symbol.dispose]() {} }),
  searched: Promise.resolve(),
  run: () => Promise.resolve(),
};
