// How does a suite get a browser, and pages that complain?
//
// The browser is Chromium without a window, named by CHROMIUM. Pictures go to the folder
// screenshots beside the suites.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

export const PICTURES = join(dirname(fileURLToPath(import.meta.url)), '..', 'screenshots');

/** `engine` holds further flags for its JavaScript engine. */
export function startBrowser({ engine = [] } = {}) {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    headless: true,
    // Inside a container there is neither a second user for its sandbox nor much shared memory.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--force-color-profile=srgb',
      ...(engine.length ? [`--js-flags=${engine.join(' ')}`] : [])],
    protocolTimeout: 180_000,
  });
}

/** A page of its own, with nothing remembered. What it complains about is in `complaints`. */
export async function openPage(browser, url, { width = 1_440, height = 1_000, scheme = 'light' } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', (message) => {
    if (['error', 'warn', 'assert'].includes(message.type())) page.complaints.push(message.text());
  });
  page.on('pageerror', (error) => page.complaints.push(`${error}`));
  page.on('requestfailed', (request) => page.complaints.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.setDefaultTimeout(60_000);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(url);
  page.done = async () => {
    // To close it breaks off what is under way, which is no complaint.
    const complaints = [...page.complaints];
    await context.close();
    assert.deepEqual(complaints, []);
  };
  return page;
}

/** Waits until the text is somewhere in what the selector finds. */
export async function shows(page, selector, text) {
  const has = (selector, text) =>
    [...document.querySelectorAll(selector)].some((element) => element.textContent.includes(text));
  try {
    await page.waitForFunction(has, { polling: 'mutation' }, selector, text);
  } catch (error) {
    const seen = await page.$$eval(selector, (found) => found.map((element) => element.textContent.slice(0, 300)));
    throw new Error(`waited for ${JSON.stringify(text)} in ${selector}, which has ${JSON.stringify(seen.slice(0, 5))}`, { cause: error });
  }
}

/** Waits until the feed is live. */
export const live = (page) => shows(page, '#status', 'live');

/** Keeps a picture of the page. */
export async function picture(page, name, options = {}) {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), ...options });
}
