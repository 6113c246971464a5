// How does the page ask the node something?
//
// All addresses are relative to the page, so that a proxy may put the node anywhere.

/** What the node says of a batch with too many requests. */
const BATCH_TOO_BIG = -32_010;
/** So many are in one batch: the node's default, or less where it takes less. */
let batchMax = 100;
let ids = 0;

/** The endpoint of a shard. */
export const at = (shard) => new URL(`../shard/${encodeURIComponent(shard)}`, base());

/** The node's own endpoint. */
export const root = () => new URL('../', base());

function base() {
  const url = new URL(document.baseURI);
  url.hash = '';
  return url;
}

/** The result, or an exception with what the node said. */
export async function ask(url, method, ...params) {
  const [answer] = await batch(url, [[method, ...params]]);
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

/** The results of some questions `[method, ...params]` at once, or the first error as an exception. */
export async function askAll(url, questions) {
  const answers = await batch(url, questions);
  const failed = answers.find((answer) => answer.error);
  if (failed) throw new Error(failed.error.message);
  return answers.map((answer) => answer.result);
}

/** Answers `{ result }` or `{ error }`, in the order of the questions. */
export async function batch(url, questions) {
  const answers = [];
  while (answers.length < questions.length) {
    const some = questions.slice(answers.length, answers.length + batchMax);
    const said = await post(url, some);
    if (some.length > 1 && said[0].error?.code === BATCH_TOO_BIG) {
      batchMax = Math.min(batchMax, Math.ceil(some.length / 2));
    } else {
      answers.push(...said);
    }
  }
  return answers;
}

async function post(url, questions) {
  const first = ids;
  ids += questions.length;
  const requests = questions.map(([method, ...params], index) =>
    ({ jsonrpc: '2.0', id: first + index, method, params }));
  const body = JSON.stringify(requests.length === 1 ? requests[0] : requests);
  const headers = { 'content-type': 'application/json' };
  let response;
  try {
    response = await fetch(url, { method: 'POST', headers, body });
  } catch {
    throw new Error('The node does not answer. It is asked again when it is back.');
  }
  const text = await response.text();
  let answers;
  try {
    answers = [JSON.parse(text)].flat();
  } catch {
    throw new Error(`The node answered with ${response.status}: ${text.slice(0, 200)}`);
  }
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  const whole = answers.find((answer) => answer.id === null && answer.error);
  return requests.map(({ id }) => byId.get(id) ?? whole ?? { error: { message: 'The node left out an answer.' } });
}
