import type { UserInfo } from "../authentication/user-info.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { Steps } from "../rest/steps.ts";

/** What a request does; `CONNECT` opens a stream or a proxied connection. Source: k8s.io/apiserver v0.36.3 pkg/admission/interfaces.go. */
export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** Operation, resource and user of a request. */
export interface AdmissionSubject {
  readonly operation: AdmissionOperation;
  /** Kind of the resource in the URL. */
  readonly kind: Kind;
  /** Such as `status`; `""` for the object itself. */
  readonly subresource: string;
  /** `""` for cluster-scoped kinds. */
  readonly namespace: string;
  /** `""` if the name is generated after admission, and for the deletion of a collection. */
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** `CreateOptions` or its siblings as the client sent them; `undefined` for CONNECT. */
  readonly options: Readonly<Record<string, unknown>> | undefined;
  /** Adds a warning for the client. */
  readonly warn: (message: string) => void;
}

/** A write that is about to happen. */
export interface AdmissionRequest extends AdmissionSubject {
  /**
   * The new object in the version of `kind`, with defaults; `undefined` for DELETE. A mutating plugin may modify it. For a subresource that
   * has a body of its own (Scale, Binding, Eviction, TokenRequest, PodExecOptions) it is this body, with its own `apiVersion` and `kind`.
   */
  readonly object: ApiObject | undefined;
  /** The stored object; `undefined` for CREATE and CONNECT. */
  readonly old: Readonly<ApiObject> | undefined;
}

/**
 * A check or change of every write, also of those of the server's own controllers. Both methods throw ApiStatusError to refuse the request,
 * and return a promise only if they have to wait; while they wait, other requests are handled.
 */
export interface AdmissionPlugin {
  /** Such as `LimitRanger`. */
  readonly name: string;
  /** Whether the plugin looks at such requests now. Called for every write, so it must be quick. */
  handles(subject: AdmissionSubject): boolean;
  /**
   * Runs after defaulting and before the kind prepares and validates the object. May modify `request.object`. Runs a second time if a
   * plugin has called {@link MutatingRun.repeat}.
   */
  mutate?(request: AdmissionRequest, run: MutatingRun): void | Promise<void>;
  /** Runs after the kind has validated the object. Must not modify it. */
  validate?(request: AdmissionRequest): void | Promise<void>;
}

/** Run of all mutating plugins for one request. Source: k8s.io/apiserver v0.36.3 pkg/admission/reinvocation.go. */
export interface MutatingRun {
  /** Whether it is the second run. */
  readonly isRepeated: boolean;
  /** Makes all plugins run a second time. */
  repeat(): void;
  /** What a plugin remembers between both runs, by its name. */
  readonly memory: Map<string, unknown>;
}

/** The plugins of a server, in order. */
export class AdmissionChain {
  readonly #plugins: AdmissionPlugin[] = [];

  /** Adds plugins after those that are there. */
  add(...plugins: readonly AdmissionPlugin[]): void {
    this.#plugins.push(...plugins);
  }

  /** The plugins that look at the request; empty for most. */
  pluginsFor(subject: AdmissionSubject): readonly AdmissionPlugin[] {
    return this.#plugins.some((plugin) => plugin.handles(subject)) ? this.#plugins.filter((plugin) => plugin.handles(subject)) : none;
  }
}

const none: readonly AdmissionPlugin[] = [];

/** Runs one stage of the plugins in order. @throws ApiStatusError of the first that refuses */
export function* admitThrough(plugins: readonly AdmissionPlugin[], stage: "mutate" | "validate", request: AdmissionRequest): Steps<void> {
  if (stage === "mutate") return yield* mutateThrough(plugins, request);
  for (const plugin of plugins) {
    const waiting = plugin.validate?.(request);
    if (waiting !== undefined) yield waiting;
  }
}

function* mutateThrough(plugins: readonly AdmissionPlugin[], request: AdmissionRequest): Steps<void> {
  const memory = new Map<string, unknown>();
  let isRepeated = false;
  for (;;) {
    let mustRepeat = false;
    const run: MutatingRun = { isRepeated, memory, repeat: () => (mustRepeat = true) };
    for (const plugin of plugins) {
      const waiting = plugin.mutate?.(request, run);
      if (waiting !== undefined) yield waiting;
    }
    if (isRepeated || !mustRepeat) return;
    isRepeated = true;
  }
}
