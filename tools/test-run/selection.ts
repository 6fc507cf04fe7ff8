/** What one run of `make test` is asked to do. */
export interface Selection {
  /** Names of levels, in the order in which they are listed. */
  readonly levels: readonly string[];
  /** Levels that `ALL=1` would add; empty where the caller chose. */
  readonly notRun: readonly string[];
  /** Short name of the package whose tests alone are run. */
  readonly package: string | undefined;
  /** Only test files whose path contains one of these; empty: all of them. */
  readonly files: readonly string[];
  /** Whether a level that cannot run, and a test that is skipped, is a failure. */
  readonly requireAll: boolean;
}

/** What there is to choose from. */
export interface Choices {
  readonly levels: readonly { readonly name: string; readonly quick: boolean }[];
  /** Short names of packages, such as `core` or `docker`. */
  readonly packages: readonly string[];
}

/**
 * Reads the variables that make hands on: `LEVEL` (names, separated by spaces or commas), `PACKAGE` (short or full name),
 * `FILES` (parts of paths, separated by spaces), `ALL` and `REQUIRE_ALL` (`1`). Without `LEVEL`, `PACKAGE` and `ALL` the quick
 * levels are selected.
 *
 * @throws Error that names the variable, its value and what is expected
 */
export function select(environment: Readonly<Record<string, string | undefined>>, { levels, packages }: Choices): Selection {
  const names = levels.map(({ name }) => name);
  const wanted = words(environment["LEVEL"]);
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`LEVEL has "${unknown}"; expected one or more of ${names.join(", ")}`);

  const all = isSet("ALL", environment);
  if (all && wanted.length > 0) throw new Error(`LEVEL=${wanted.join(" ")} and ALL=1 contradict each other; leave one of them out`);

  const owner = environment["PACKAGE"]?.trim().replace(/^@virtual-kubelet\/(provider-)?/, "") || undefined;
  if (owner !== undefined && !packages.includes(owner))
    throw new Error(`PACKAGE is "${owner}"; expected one of ${[...packages].sort().join(", ")}`);

  const quick = levels.filter((level) => level.quick).map(({ name }) => name);
  const chosen = wanted.length > 0 ? names.filter((name) => wanted.includes(name)) : all || owner !== undefined ? names : quick;
  return {
    levels: chosen,
    notRun: wanted.length > 0 || owner !== undefined ? [] : names.filter((name) => !chosen.includes(name)),
    package: owner,
    files: words(environment["FILES"]),
    requireAll: isSet("REQUIRE_ALL", environment),
  };
}

function words(value: string | undefined): string[] {
  return (value ?? "").split(/[\s,]+/).filter(Boolean);
}

function isSet(name: string, environment: Readonly<Record<string, string | undefined>>): boolean {
  const value = environment[name] ?? "";
  if (value === "" || value === "0") return false;
  if (value === "1") return true;
  throw new Error(`${name} is "${value}"; expected 1, or nothing`);
}
