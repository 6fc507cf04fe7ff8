/** A kubectl command whose output is compared. */
export interface KubectlStep {
  /** Words after `kubectl`, as in a shell: single quotes hold spaces together. `{ns}` is the name of the run's namespace. */
  readonly words: string;
  /** Text, or objects that are sent as a list in JSON. `{ns}` is replaced here, too. */
  readonly stdin?: string | readonly object[];
  /** Program that `kubectl edit` starts with the file's path. */
  readonly editor?: string;
}

/** A wait that is not compared: until the output of a kubectl command matches. */
export interface Until {
  readonly until: string;
  readonly prints: RegExp;
}

/** Steps that follow each other; those of a later group may use objects of an earlier one. */
export interface StepGroup {
  readonly name: string;
  readonly steps: readonly (KubectlStep | Until)[];
}

export function kubectl(words: string, stdin?: KubectlStep["stdin"]): KubectlStep {
  return { words, ...(stdin === undefined ? {} : { stdin }) };
}

/** Edits objects with a program, such as `sed -i s/a/b/`. */
export function edit(words: string, editor: string): KubectlStep {
  return { words: `edit ${words}`, editor };
}

export function until(words: string, prints: RegExp): Until {
  return { until: words, prints };
}
