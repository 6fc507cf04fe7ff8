/**
 * Go's message for a text that is no JSON.
 *
 * Source: `scanner` of Go's encoding/json.
 *
 * @returns `undefined` if the text is JSON
 */
export function goJsonError(text: string): string | undefined {
  const scan = new Scan(text);
  try {
    scan.value();
    scan.space();
    scan.fail("after top-level value", scan.peek());
    return undefined;
  } catch (error) {
    if (error instanceof GoSyntaxError) return error.message;
    throw error;
  }
}

class GoSyntaxError extends Error {}

class Scan {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Next character; empty at the end. */
  peek(): string {
    return this.#text.charAt(this.#at);
  }

  space(): void {
    while (" \t\r\n".includes(this.peek()) && this.peek() !== "") this.#at++;
  }

  /** Fails if there is a character. @throws GoSyntaxError */
  fail(where: string, character: string): void {
    if (character !== "") throw new GoSyntaxError(`invalid character ${quoted(character)} ${where}`);
  }

  #refuse(where: string): never {
    this.fail(where, this.peek());
    throw new GoSyntaxError("unexpected end of JSON input");
  }

  value(): void {
    this.space();
    const first = this.peek();
    if (first === "{") this.#object();
    else if (first === "[") this.#array();
    else if (first === '"') this.#string();
    else if (first === "-" || isDigit(first)) this.#number();
    else {
      const word = ["true", "false", "null"].find((one) => first !== "" && one.startsWith(first));
      if (word === undefined) this.#refuse("looking for beginning of value");
      this.#literal(word);
    }
  }

  #literal(word: string): void {
    for (const expected of word) {
      if (this.peek() !== expected) this.#refuse(`in literal ${word} (expecting '${expected}')`);
      this.#at++;
    }
  }

  #object(): void {
    this.#at++;
    this.space();
    if (this.peek() === "}") return void this.#at++;
    for (;;) {
      this.space();
      if (this.peek() !== '"') this.#refuse("looking for beginning of object key string");
      this.#string();
      this.space();
      if (this.peek() !== ":") this.#refuse("after object key");
      this.#at++;
      this.value();
      this.space();
      if (this.peek() === "}") return void this.#at++;
      if (this.peek() !== ",") this.#refuse("after object key:value pair");
      this.#at++;
    }
  }

  #array(): void {
    this.#at++;
    this.space();
    if (this.peek() === "]") return void this.#at++;
    for (;;) {
      this.value();
      this.space();
      if (this.peek() === "]") return void this.#at++;
      if (this.peek() !== ",") this.#refuse("after array element");
      this.#at++;
    }
  }

  #string(): void {
    this.#at++;
    for (; this.peek() !== '"'; this.#at++) {
      if (this.peek() < " ") this.#refuse("in string literal");
      if (this.peek() !== "\\") continue;
      this.#at++;
      if (this.peek() === "u") {
        for (let digits = 0; digits < 4; digits++) {
          this.#at++;
          if (!/[\da-f]/i.test(this.peek())) this.#refuse(String.raw`in \u hexadecimal character escape`);
        }
      } else if (this.peek() === "" || !'bfnrt\\/"'.includes(this.peek())) this.#refuse("in string escape code");
    }
    this.#at++;
  }

  #number(): void {
    if (this.peek() === "-") this.#at++;
    if (!isDigit(this.peek())) this.#refuse("in numeric literal");
    if (this.peek() === "0") this.#at++;
    else this.#digits();
    if (this.peek() === ".") {
      this.#at++;
      if (!isDigit(this.peek())) this.#refuse("after decimal point in numeric literal");
      this.#digits();
    }
    if (this.peek() !== "e" && this.peek() !== "E") return;
    this.#at++;
    if (this.peek() === "+" || this.peek() === "-") this.#at++;
    if (!isDigit(this.peek())) this.#refuse("in exponent of numeric literal");
    this.#digits();
  }

  #digits(): void {
    while (isDigit(this.peek())) this.#at++;
  }
}

function isDigit(character: string): boolean {
  return character >= "0" && character <= "9";
}

function quoted(character: string): string {
  if (character === "'") return String.raw`'\''`;
  if (character === '"') return `'"'`;
  const text = JSON.stringify(character);
  return `'${text.slice(1, -1)}'`;
}
