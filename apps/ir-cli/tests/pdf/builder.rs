//! PDF files, written by hand.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Numbers of the objects that every file has.
const CATALOG: usize = 1;
const PAGES: usize = 2;
const FONTS: [usize; 2] = [3, 4];

/// Objects of a file, numbered from 1.
pub(crate) struct PdfBuilder {
    objects: Vec<Vec<u8>>,
    pages: Vec<usize>,
    /// Entries of the trailer besides the root and the size.
    trailer: String,
}

impl PdfBuilder {
    pub(crate) fn new() -> Self {
        let font = |name: &str| {
            let font = format!(
                "<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
            );
            font.into_bytes()
        };
        let catalog = format!("<< /Type /Catalog /Pages {PAGES} 0 R >>").into_bytes();
        // The pages are known when the file is written.
        let objects = vec![
            catalog,
            Vec::new(),
            font("Helvetica"),
            font("Helvetica-Bold"),
        ];
        assert_eq!((CATALOG, objects.len()), (1, FONTS[1]));
        Self {
            objects,
            pages: Vec::new(),
            trailer: String::new(),
        }
    }

    pub(crate) fn object(&mut self, content: impl Into<Vec<u8>>) -> usize {
        self.objects.push(content.into());
        self.objects.len()
    }

    pub(crate) fn stream(&mut self, entries: &str, data: &[u8]) -> usize {
        let length = data.len();
        let mut object = format!("<< {entries} /Length {length} >>\nstream\n").into_bytes();
        object.extend(data);
        object.extend(b"\nendstream");
        self.object(object)
    }

    /// A page of 612 × 792 points with the contents of a stream and further resources.
    pub(crate) fn page_of(&mut self, contents: usize, resources: &str) -> &mut Self {
        let [regular, bold] = FONTS;
        let page = self.object(format!(
            "<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R \
             /Resources << /Font << /F1 {regular} 0 R /F2 {bold} 0 R >> {resources} >> >>"
        ));
        self.pages.push(page);
        self
    }

    /// A page with lines of text.
    pub(crate) fn page(&mut self, lines: &[Line]) -> &mut Self {
        let mut contents = Vec::new();
        for Line {
            x,
            y,
            size,
            is_bold,
            text,
        } in lines
        {
            let font = 1 + u8::from(*is_bold);
            let text = text
                .replace('\\', "\\\\")
                .replace('(', "\\(")
                .replace(')', "\\)");
            let line = format!("BT /F{font} {size} Tf {x} {y} Td ({text}) Tj ET\n");
            contents.extend(line.into_bytes());
        }
        let contents = self.stream("", &contents);
        self.page_of(contents, "")
    }

    pub(crate) fn trailer(&mut self, entries: &str) -> &mut Self {
        self.trailer.push_str(entries);
        self
    }

    pub(crate) fn build(&mut self) -> Vec<u8> {
        let kids: Vec<String> = self
            .pages
            .iter()
            .map(|page| format!("{page} 0 R"))
            .collect();
        let pages = format!(
            "<< /Type /Pages /Count {} /Kids [{}] >>",
            kids.len(),
            kids.join(" ")
        );
        self.objects[PAGES - 1] = pages.into_bytes();
        let mut file = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n".to_vec();
        let mut offsets = Vec::new();
        for (number, object) in (1..).zip(&self.objects) {
            offsets.push(file.len());
            file.extend(format!("{number} 0 obj\n").bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let table = file.len();
        let size = offsets.len() + 1;
        file.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").bytes());
        for offset in offsets {
            file.extend(format!("{offset:010} 00000 n \n").bytes());
        }
        file.extend(
            format!(
                "trailer\n<< /Size {size} /Root {CATALOG} 0 R {} >>\nstartxref\n{table}\n%%EOF\n",
                self.trailer
            )
            .bytes(),
        );
        file
    }
}

/// Line of text; lengths are points, `y` grows upward.
pub(crate) struct Line {
    x: u32,
    y: u32,
    size: u32,
    is_bold: bool,
    text: String,
}

pub(crate) fn line(x: u32, y: u32, size: u32, text: &str) -> Line {
    Line {
        x,
        y,
        size,
        is_bold: false,
        text: text.to_owned(),
    }
}

pub(crate) fn bold(x: u32, y: u32, size: u32, text: &str) -> Line {
    Line {
        is_bold: true,
        ..line(x, y, size, text)
    }
}

pub(crate) fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}
