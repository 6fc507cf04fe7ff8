import { CreateError } from "./create-error.ts";
import type { Arguments } from "./arguments.ts";
import { kinds, type Kind } from "./kind.ts";
import { descriptionProblem, kindProblem, nameProblem, packageProblem } from "./names.ts";
import { defaultsFor, type Project } from "./project.ts";

/** Asks the user questions. */
export interface Asker {
  /** @returns the answer, or the default if that is empty */
  ask(question: string, standard: string): Promise<string>;
  /** Reports an invalid answer before the question is repeated. */
  refuse(problem: string): void;
}

/**
 * Completes the project from the command line, the user's answers, and defaults.
 *
 * @param asker - `undefined` asks nobody
 * @throws CreateError for an invalid value on the command line, and if the name is missing
 */
export async function completeProject(given: Partial<Arguments>, asker: Asker | undefined): Promise<Project> {
  const choose = async (choice: Choice): Promise<string> => {
    const { flag, value, question, standard, problemOf } = choice;
    if (value !== undefined) return checked(flag, value, problemOf);
    if (!asker) {
      if (standard === "") throw new CreateError(`missing name, as in npm create @virtual-kubelet/provider my-cloud`);
      return standard;
    }
    for (;;) {
      const answer = (await asker.ask(question, standard)).trim();
      const problem = problemOf(answer);
      if (problem === undefined) return answer;
      asker.refuse(`${JSON.stringify(answer)}: ${problem}`);
    }
  };
  const name = await choose({ flag: "name", value: given.name, question: "Name of the provider", standard: "", problemOf: nameProblem });
  const { kind, description, packageName } = defaultsFor(name);
  const chosen = {
    name,
    kind: (await choose({
      flag: "kind",
      value: given.kind,
      question: `Kind: ${kinds.join(" or ")}`,
      standard: kind,
      problemOf: kindProblem,
    })) as Kind,
    description: await choose({
      flag: "description",
      value: given.description,
      question: "Description",
      standard: description,
      problemOf: descriptionProblem,
    }),
    packageName: await choose({
      flag: "package",
      value: given.packageName,
      question: "Name of its npm package",
      standard: packageName,
      problemOf: packageProblem,
    }),
  };
  const { directory = defaultsFor(name, chosen.packageName).directory, tarballs } = given;
  return { ...chosen, directory, tarballs };
}

/** One question. */
interface Choice {
  readonly flag: string;
  /** Value from the command line. */
  readonly value: string | undefined;
  readonly question: string;
  /** Default; empty if there is none. */
  readonly standard: string;
  problemOf(value: string): string | undefined;
}

function checked(flag: string, value: string, problemOf: Choice["problemOf"]): string {
  const problem = problemOf(value);
  if (problem === undefined) return value;
  throw new CreateError(`--${flag}: ${JSON.stringify(value)}: ${problem}`);
}
