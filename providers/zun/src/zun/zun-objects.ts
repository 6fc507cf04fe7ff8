/**
 * What Zun answers, as far as it is read here.
 * Source: zun 18.0.0 zun/api/controllers/v1/views/containers_view.py and capsules_view.py, microversion 1.40.
 */

/** An address of a container, by network id. */
export type ZunAddresses = Readonly<
  Record<string, readonly { readonly addr?: string; readonly version?: number; readonly port?: string }[]>
>;

/** A container, or a capsule's member. */
export interface ZunContainer {
  readonly uuid: string;
  readonly name?: string | null;
  readonly image?: string | null;
  readonly status?: string | null;
  /** Why it is in Error. */
  readonly status_reason?: string | null;
  /** Such as `Up 5 mins` and `Exited(1) 2 mins ago `: the only place of an exit code. */
  readonly status_detail?: string | null;
  readonly task_state?: string | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly addresses?: ZunAddresses | null;
  readonly interactive?: boolean | null;
  readonly tty?: boolean | null;
  /** Without a zone, in UTC: `2026-11-21 10:00:00.123456`, or with a `T`. */
  readonly created_at?: string | null;
  readonly updated_at?: string | null;
}

/** A capsule, with members in the order of its template. */
export interface ZunCapsule {
  readonly uuid: string;
  readonly name?: string | null;
  readonly status?: string | null;
  readonly status_reason?: string | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly addresses?: ZunAddresses | null;
  readonly created_at?: string | null;
  readonly updated_at?: string | null;
  readonly containers?: readonly ZunContainer[] | null;
  readonly init_containers?: readonly ZunContainer[] | null;
}

/** A command that is to run, and where its streams are. */
export interface ZunExec {
  readonly output?: string | null;
  readonly exit_code?: number | null;
  readonly exec_id?: string | null;
  readonly token?: string | null;
  /** URL of the websocket proxy, token included: a secret. */
  readonly proxy_url?: string | null;
}

/** Figures of a container; the keys are Zun's. */
export interface ZunStats {
  readonly "CPU %"?: number;
  readonly "MEM USAGE(MiB)"?: number;
  readonly "MEM LIMIT(MiB)"?: number;
  readonly "NET I/O(B)"?: string;
}

/** Limits of the project; -1 is none. */
export interface ZunQuota {
  readonly containers?: number;
  /** MiB. */
  readonly memory?: number;
  readonly cpu?: number;
}

/** Zun's time as RFC 3339; `undefined` for what is none. */
export function zunTime(text: string | null | undefined): string | undefined {
  const [, date, time] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)/.exec(text ?? "") ?? [];
  return date === undefined ? undefined : `${date}T${time}Z`;
}
