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
  /** `""` if the name is generated after admission. */
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Name and value of the field manager, dry run and others, as in `CreateOptions` and its siblings, for webhooks. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Adds a warning for the client. */
  readonly warn: (message: string) => void;
}

/** A write that is about to happen. */
export interface AdmissionRequest extends AdmissionSubject {
  /**
   * The new object in the version of `kind`, with defaults; `undefined` for DELETE. A mutating plugin may modify it. For a subresource that
   * has a body of its own (Scale, Binding, Eviction, TokenRequest, PodExecOptions) it is this body.
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
  /** Runs after defaulting and before the kind prepares and validates the object. May modify `request.object`. */
  mutate?(request: AdmissionRequest): void | Promise<void>;
  /** Runs after the kind has validated the object. Must not modify it. */
  validate?(request: AdmissionRequest): void | Promise<void>;
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
  for (const plugin of plugins) {
    const waiting = plugin[stage]?.(request);
    if (waiting !== undefined) yield waiting;
  }
}
