import type { BackEndTimings } from "./back-end.ts";
import type { Chance } from "./chance.ts";
import type { ProviderProfile } from "./model-provider.ts";
import type { NetworkProfile } from "./network.ts";

/** Kind of world of a seed. */
export type WorldKind =
  /** A bit of everything. */
  | "mixed"
  /** 500 pods at once, in a world without faults at first. */
  | "burst"
  /** One kind of call or request fails for more than an hour. */
  | "long"
  /** More creations hang than calls may be made at once. */
  | "clogged"
  /** At the end the back end is away for minutes, and all hangs on what happens when it is back. */
  | "recovery";

/** Properties of the world of a seed. */
export interface Profile {
  readonly kind: WorldKind;
  readonly steps: number;
  readonly network: NetworkProfile;
  readonly provider: ProviderProfile;
  readonly backEnd: BackEndTimings;
  /** Whether the back end has idempotency tokens. */
  readonly isIdempotent: boolean;
  /** How far the program's wall clock is ahead of the cluster's, in milliseconds. */
  readonly skewMs: number;
  /** How much more often than elsewhere containers end. */
  readonly exitsTimes: number;
  /** Whether a program that is started while the API server hides pods gets a partial list first. */
  readonly startsWithPartialList: boolean;
  /** The program's `pods.pollIntervalMs`. Default: the one it is shipped with. */
  readonly pollIntervalMs?: number | undefined;
}

/** How often the kinds come up. The last three take much longer to live through. */
const kinds: Readonly<Record<WorldKind, number>> = { mixed: 87, recovery: 9, burst: 1, long: 2, clogged: 1 };

/** Draws a world. @param wished - what kind it is to be; default: any */
export function drawProfile(chance: Chance, wished?: WorldKind): Profile {
  const drawn = chance.weighted(kinds);
  const kind = wished ?? drawn;
  const trouble = chance.pick([0, 0.2, 1, 1]);
  const profile: Profile = {
    kind,
    steps: kind === "burst" ? chance.whole(3, 8) : chance.whole(8, 30),
    network: drawNetwork(chance, trouble),
    provider: drawProvider(chance, { trouble: chance.pick([0, 0.5, 1]), isImmediate: kind === "burst" }),
    backEnd: kind === "burst" ? { startMs: 0, stopMs: 0, restartMs: 0, keepEndedMs: 0 } : drawTimings(chance),
    isIdempotent: chance.happens(0.7),
    skewMs: chance.pick([0, 0, 0, -300_000, 300_000]),
    exitsTimes: 1,
    startsWithPartialList: false,
  };
  // Drawn last, so that the worlds without it stay as they are.
  const isSlow = chance.happens(0.2) && kind === "mixed" && profile.provider.notifies;
  const whole = isSlow ? withSlowLists(profile, chance) : { ...profile, startsWithPartialList: chance.happens(0.5) };
  const released = chance.happens(0.25) && kind !== "burst" && profile.provider.style.saysPhase ? withSlowReleases(whole, chance) : whole;
  return chance.happens(0.2) && kind !== "burst" ? withForgottenEnds(released, chance) : released;
}

/** The back end removes what has ended by itself, and many writes fail, so that it is often gone before the API server has taken its end. */
function withForgottenEnds(profile: Profile, chance: Chance): Profile {
  const network = { ...profile.network, error: chance.pick([0.02, 0.3]) };
  return { ...profile, network, exitsTimes: 30, backEnd: { ...profile.backEnd, forgetsEndedMs: chance.pick([500, 2_000, 60_000]) } };
}

/** Resources of a deleted pod are released after its containers have ended, and the provider reports when. */
function withSlowReleases(profile: Profile, chance: Chance): Profile {
  const provider = { ...profile.provider, style: { ...profile.provider.style, endsWhenGone: true } };
  return { ...profile, provider, backEnd: { ...profile.backEnd, releaseMs: chance.pick([2_000, 20_000, 90_000]) } };
}

/** A list is under way most of the time, and reports of what happens meanwhile overtake its answer. */
function withSlowLists(profile: Profile, chance: Chance): Profile {
  const provider = { ...profile.provider, listAnswerMs: chance.pick([20_000, 40_000]) };
  return { ...profile, provider, exitsTimes: 10, pollIntervalMs: 5_000 };
}

function drawNetwork(chance: Chance, trouble: number): NetworkProfile {
  return {
    latencyMs: chance.pick([2, 5, 50]),
    error: 0.02 * trouble,
    lost: 0.02 * trouble,
    tooMany: 0.02 * trouble,
    unavailable: 0.01 * trouble,
    longestRetryAfterSeconds: chance.pick([10, 10, 3_600]),
    serverError: 0.01 * trouble,
    gatewayTimeout: 0.01 * trouble,
    slow: 0.01 * trouble,
    hang: 0.003 * trouble,
    cutWatch: 0.03 * trouble,
    deadWatch: 0.002 * trouble,
    expired: 0.02 * trouble,
    noList: chance.pick([0, 0, 0.1]) * trouble,
    listGaps: chance.pick([0, 0, 0.2]) * trouble,
    streamsLists: chance.happens(0.6),
  };
}

function drawProvider(
  chance: Chance,
  { trouble, isImmediate }: { readonly trouble: number; readonly isImmediate: boolean },
): ProviderProfile {
  return {
    notifies: chance.happens(0.5),
    latencyMs: isImmediate ? 0 : chance.pick([0, 20, 2_000]),
    listLagMs: isImmediate ? 0 : chance.pick([0, 0, 3_000]),
    listAnswerMs: 0,
    listGaps: isImmediate ? 0 : chance.pick([0, 0, 0.1, 0.5]),
    errors: 0.1 * trouble,
    lostAnswers: 0.05 * trouble,
    hangs: chance.pick([0.04, 0.04, 0.04, 0.3]) * trouble,
    heedsSignal: chance.pick([0.6, 0.6, 0]),
    longestHangMs: chance.pick([60_000, 60_000, 60_000, 900_000]),
    readHangs: chance.pick([0, 0, 0.05]) * trouble,
    throttles: chance.pick([0, 0.05, 0.3]) * trouble,
    retryAfterMs: chance.pick([10_000, 120_000, 3_600_000]),
    strayNotFound: chance.pick([0, 0.02, 0.2]) * trouble,
    wrongAnswers: chance.pick([0, 0.02, 0.2]) * trouble,
    partialLists: 0.3 * trouble,
    style: { saysPhase: chance.happens(0.6), betweenRuns: chance.pick(["terminated", "waiting"]), endsWhenGone: false },
  };
}

function drawTimings(chance: Chance): BackEndTimings {
  return {
    startMs: chance.pick([0, 500, 10_000]),
    stopMs: chance.pick([0, 2_000, 60_000]),
    restartMs: chance.pick([0, 1_000, 20_000]),
    keepEndedMs: chance.pick([0, 0, 20_000]),
  };
}
