/** Whether a code point belongs to a class. */
export type CharacterTest = (codePoint: number) => boolean;

/** Part of a class: the inside of a JavaScript class such as `a-z` or `\p{L}`, or what is outside of it. */
export interface ClassPart {
  readonly source: string;
  readonly isNegated: boolean;
}

/** Classes such as `[:alpha:]`. Source: Go 1.26 regexp/syntax/perl_groups.go. */
const posixClasses: ReadonlyMap<string, string> = new Map(
  Object.entries({
    alnum: "0-9A-Za-z",
    alpha: "A-Za-z",
    ascii: String.raw`\x00-\x7F`,
    blank: String.raw`\t `,
    cntrl: String.raw`\x00-\x1F\x7F`,
    digit: "0-9",
    graph: "!-~",
    lower: "a-z",
    print: " -~",
    punct: String.raw`!-\/:-@\[-\x60\{-~`,
    space: String.raw`\t\n\v\f\r `,
    upper: "A-Z",
    word: "0-9A-Za-z_",
    xdigit: "0-9A-Fa-f",
  }),
);
const perlClasses: ReadonlyMap<string, string> = new Map(Object.entries({ d: "0-9", s: String.raw`\t\n\f\r `, w: "0-9A-Za-z_" }));

/** Class of an escape such as `\d` or `\D`; `undefined` for other letters. */
export function perlClass(letter: string): ClassPart | undefined {
  const source = perlClasses.get(letter.toLowerCase());
  return source === undefined ? undefined : { source, isNegated: letter !== letter.toLowerCase() };
}

/** Class of a name in `[:name:]` or `[:^name:]`. */
export function posixClass(name: string): ClassPart | undefined {
  const source = posixClasses.get(name.replace(/^\^/, ""));
  return source === undefined ? undefined : { source, isNegated: name.startsWith("^") };
}

/** Class of a name in `\p{name}`: a category or a script; `undefined` if Unicode has none of the name. */
export function unicodeClass(name: string, isNegated: boolean): ClassPart | undefined {
  if (!/^\w+$/.test(name)) return undefined;
  for (const property of ["Any", "ASCII", "Assigned"].includes(name) ? [name] : [`gc=${name}`, `sc=${name}`]) {
    const source = `\\p{${property}}`;
    try {
      new RegExp(source, "u");
      return { source, isNegated };
    } catch {
      // Not a name of this property.
    }
  }
  return undefined;
}

/** Range of code points. */
export function rangePart(low: number, high: number): ClassPart {
  return { source: low === high ? escaped(low) : `${escaped(low)}-${escaped(high)}`, isNegated: false };
}

function escaped(codePoint: number): string {
  return `\\u{${codePoint.toString(16)}}`;
}

/** Test for one code point. @param isFolded - whether upper and lower case are equal */
export function literalTest(codePoint: number, isFolded: boolean): CharacterTest {
  return isFolded ? classTest([rangePart(codePoint, codePoint)], false, true) : (other) => other === codePoint;
}

/** Test for a class with any of the parts, or with none of them. */
export function classTest(parts: readonly ClassPart[], isNegated: boolean, isFolded: boolean): CharacterTest {
  const flags = isFolded ? "iu" : "u";
  const inside = parts.filter((part) => !part.isNegated).map(({ source }) => source);
  const some = inside.length === 0 ? undefined : new RegExp(`^[${inside.join("")}]`, flags);
  const outside = parts.filter((part) => part.isNegated).map(({ source }) => new RegExp(`^[${source}]`, flags));
  const known = new Map<number, boolean>();
  return (codePoint) => {
    let result = known.get(codePoint);
    if (result === undefined) {
      const character = String.fromCodePoint(codePoint);
      result = (some?.test(character) === true || outside.some((pattern) => !pattern.test(character))) !== isNegated;
      if (known.size < 256) known.set(codePoint, result);
    }
    return result;
  };
}
