"""Pictures of a page for the documentation, taken with Chromium: wide and light, a submission in the dark, a phone.

    harness leaderboard RUN --format html -o page.html
    python benchmarks/pictures.py page.html [--submission N] [-o DIR]

Needs selenium (of the extra `dev`), chromium and chromedriver.
"""

import argparse
import base64
import shutil
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

DETAILS = "document.querySelector('#detail-body section') !== null"

# Charts are drawn with the next frame: the one after it has them.
PAINTED = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 300)))"


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def picture(driver: webdriver.Chrome, address: str, file: Path, *, width: int, height: int, dark: bool) -> None:
    """A picture of the page from its top, or of the submission that the address names."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    driver.get("about:blank")
    driver.get(address)
    if "#" in address:
        WebDriverWait(driver, 20).until(lambda each: each.execute_script(f"return {DETAILS}"))
    driver.execute_async_script(PAINTED)
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    file.write_bytes(base64.b64decode(taken["data"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--submission", type=int, default=0, help="the place of the one to open")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    address = arguments.page.resolve().as_uri()
    submission = f"{address}#submission-{arguments.submission}"
    driver = browser()
    try:
        picture(driver, address, arguments.output / "page.png", width=1200, height=1280, dark=False)
        picture(driver, submission, arguments.output / "page-submission.png", width=1100, height=1100, dark=True)
        picture(driver, address, arguments.output / "page-phone.png", width=390, height=844, dark=False)
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
