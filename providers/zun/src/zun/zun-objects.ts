/**
 * What Zun answers, as far as it is read here.
 * Source: zun 18.0.0 zun/api/controllers/v1/views/containers_view.py and capsules_view.py, microversion 1.40.
 */

/** Addresses of a container, by network id. */
export type ZunAddresses = Readonly<
  Record<
    string,
    readonly {
      readonly addr?: string | null | undefined;
      readonly version?: number | null | undefined;
      readonly port?: string | null | undefined;
    }[]
  >
>;

/** A container, or a capsule's member. */
export interface ZunContainer {
  readonly uuid: string;
  readonly name?: string | null | undefined;
  readonly image?: string | null | undefined;
  readonly status?: string | null | undefined;
  /** Why it is in Error. */
  readonly status_reason?: string | null | undefined;
  /** Such as `Up 5 mins` and `Exited(1) 2 mins ago `: the only place of an exit code. */
  readonly status_detail?: string | null | undefined;
  readonly task_state?: string | null | undefined;
  readonly addresses?: ZunAddresses | null | undefined;
  readonly interactive?: boolean | null | undefined;
  readonly tty?: boolean | null | undefined;
  /** Without a zone, in UTC: `2026-11-21 10:00:00.123456`, or with a `T`. */
  readonly created_at?: string | null | undefined;
  readonly updated_at?: string | null | undefined;
}

/** A capsule, with members in the order of its template. */
export interface ZunCapsule {
  readonly uuid: string;
  readonly name?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly status_reason?: string | null | undefined;
  readonly addresses?: ZunAddresses | null | undefined;
  readonly created_at?: string | null | undefined;
  readonly updated_at?: string | null | undefined;
  readonly containers?: readonly ZunContainer[] | null | undefined;
  readonly init_containers?: readonly ZunContainer[] | null | undefined;
}

/** One page of a list: of containers, or of capsules. */
export interface ZunPage {
  readonly containers?: readonly unknown[] | undefined;
  readonly capsules?: readonly unknown[] | undefined;
  /** URL of the next page. */
  readonly next?: string | null | undefined;
}

/** A command that is to run, and where its streams are. */
export interface ZunExec {
  readonly output?: string | null | undefined;
  readonly exit_code?: number | null | undefined;
  readonly exec_id?: string | null | undefined;
  readonly token?: string | null | undefined;
  /** URL of the websocket proxy, token included: a secret. */
  readonly proxy_url?: string | null | undefined;
}

/** Figures of a container; the keys are Zun's. */
export interface ZunStats {
  readonly "CPU %"?: number | undefined;
  readonly "MEM USAGE(MiB)"?: number | undefined;
  readonly "MEM LIMIT(MiB)"?: number | undefined;
  readonly "NET I/O(B)"?: string | undefined;
}

/** Limits of the project; -1 is none. */
export interface ZunQuota {
  readonly containers?: number | undefined;
  /** MiB. */
  readonly memory?: number | undefined;
  readonly cpu?: number | undefined;
}

/** Zun's time as RFC 3339, in whole seconds; `undefined` for what is none. */
export function zunTime(text: string | null | undefined): string | undefined {
  const [, date, time] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)?$/.exec(text ?? "") ?? [];
  const found = `${date}T${time}Z`;
  const parsed = Date.parse(found);
  // A 31 February would be one in March.
  return Number.isNaN(parsed) || new Date(parsed).toISOString() !== found.replace("Z", ".000Z") ? undefined : found;
}
